#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the engine alone on a CUDA server (no Qt), holds the CUDA backend to double precision, measures it, runs a Llama-3 8B
# block, and writes one JSON document. See README.md beside it.
set -uo pipefail

usage() {
    cat <<'TEXT'
usage: tests/gpu/run.sh [-o FILE] [--build DIR] [--nlohmann DIR] [--stand-in] [--sanitize] [--limit SECONDS]
  -o FILE          the document (tests/gpu/results/DEVICE-DATE.json)
  --build DIR      build folder (build-gpu)
  --nlohmann DIR   folder that holds nlohmann/json.hpp, where it is not installed
  --stand-in       goes through the benchmarks on the CPU with tiny sizes: tests this script without a GPU
  --sanitize       a part of the suite under compute-sanitizer, too (memcheck and racecheck, up to 8 minutes more)
  --limit SECONDS  of everything but --sanitize (520)
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build-gpu
out=
nlohmann=${NLOHMANN:-}
stand_in=0
sanitize=0
limit=520
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --nlohmann) nlohmann=$2; shift 2 ;;
    --stand-in) stand_in=1; shift ;;
    --sanitize) sanitize=1; shift ;;
    --limit) limit=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done
begin=$(date +%s)
left() { local l=$((limit - $(date +%s) + begin)); [ "$l" -lt 5 ] && l=5; echo "$l"; }
at_most() { local l; l=$(left); [ "$1" -lt "$l" ] && l=$1; echo "$l"; }
say() { printf '== %s (%ss left)\n' "$1" "$(left)" >&2; }
missing() { printf 'run.sh: %s\n' "$1" >&2; exit 3; }

export PATH=$PATH:/usr/local/cuda/bin
command -v cmake >/dev/null || missing "cmake is missing: install it (3.22 or newer)"
command -v g++ >/dev/null || missing "g++ is missing: install it (12 or newer)"
if [ $stand_in = 0 ]; then
    command -v nvcc >/dev/null || missing "nvcc is missing: install the CUDA toolkit (12.4 or newer), or add its bin folder to PATH"
    command -v nvidia-smi >/dev/null || missing "nvidia-smi is missing: there is no NVIDIA driver here"
    nvidia-smi -L >&2 || missing "the driver finds no GPU"
fi

# The one header that the engine needs and a bare server may lack.
settings=(-S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSHARDBOARD_DESKTOP=OFF -DSHARDBOARD_TESTS=OFF -DSHARDBOARD_PRECOMPILE=OFF)
mkdir -p "$build"
if [ -z "$nlohmann" ] && ! echo '#include <nlohmann/json.hpp>' | g++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; then
    for place in "$root"/.nlohmann /usr/local/include /opt/*/include; do
        [ -f "$place/nlohmann/json.hpp" ] && nlohmann=$place && break
    done
    [ -n "$nlohmann" ] || missing "nlohmann/json.hpp is missing: install nlohmann-json3-dev, or bring its folder (version 3.11) and name it: --nlohmann DIR"
fi
if [ -n "$nlohmann" ]; then
    [ -f "$nlohmann/nlohmann/json.hpp" ] || missing "there is no nlohmann/json.hpp in $nlohmann"
    mkdir -p "$build/nlohmann"
    cat >"$build/nlohmann/nlohmann_jsonConfig.cmake" <<TEXT
add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
set_target_properties(nlohmann_json::nlohmann_json PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "$nlohmann")
TEXT
    cat >"$build/nlohmann/nlohmann_jsonConfigVersion.cmake" <<TEXT
set(PACKAGE_VERSION 3.11.2)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
TEXT
    settings+=("-Dnlohmann_json_DIR=$build/nlohmann")
fi
command -v ninja >/dev/null && settings+=(-G Ninja)
[ $stand_in = 0 ] && settings+=(-DCMAKE_CUDA_ARCHITECTURES=native) || settings+=(-DSHARDBOARD_CUDA=OFF)
say "building"
cmake "${settings[@]}" >"$build/configure.log" 2>&1 || { tail -20 "$build/configure.log" >&2; missing "configuring failed"; }
cmake --build "$build" --target shardboard-engine shardctl shardboard-gpubench -j "$(nproc)" >"$build/build.log" 2>&1 ||
    { grep -E "error|Error" "$build/build.log" | head -20 >&2; missing "building failed, see $build/build.log"; }
bin=$build/bin
built=$(($(date +%s) - begin))

work=$build/run
rm -rf "$work"
mkdir -p "$work"
backend=cuda
bench_options=()
if [ $stand_in = 1 ]; then
    backend=cpu
    bench_options=(--stand-in)
fi

say "conformance"
timeout "$(at_most 150)" "$bin/shardboard-engine" --conformance $backend >"$work/conformance.txt" 2>&1
conformance=$?
tail -3 "$work/conformance.txt" >&2

# With one GPU it says so, and that is no failure.
say "reshards over several GPUs"
nccl=0
timeout "$(at_most 60)" "$bin/shardboard-engine" --check-nccl >"$work/nccl.txt" 2>&1
case $? in 0 | 4) ;; *) nccl=1 ;; esac
tail -3 "$work/nccl.txt" >&2

say "collectives and products"
timeout "$(at_most 150)" "$bin/shardboard-gpubench" ${bench_options[@]+"${bench_options[@]}"} -o "$work/bench.json" 2>"$work/bench.txt"
bench=$?
tail -60 "$work/bench.txt" >&2

say "calibration"
calibrate=1
model=(--model llama3-8b --mesh model=8 --preset megatron-tp --workload prefill --batch 8 --sequence 4096)
dtype=design
if [ $stand_in = 1 ]; then
    model=(--model llama3-8b --mesh model=4 --preset megatron-tp --workload prefill --batch 1 --sequence 16)
fi
export SHARDBOARD_ENGINE_PATH=$bin/shardboard-engine
timeout "$(at_most 100)" "$bin/shardctl" calibrate --backend $backend --quick -o "$work/hardware.json" >"$work/calibrate.txt" 2>&1 </dev/null && calibrate=0
tail -12 "$work/calibrate.txt" >&2

say "a block of Llama 3 8B"
run=1
hardware=()
[ $calibrate = 0 ] && hardware=(--hardware "$work/hardware.json")
if "$bin/shardctl" new "${model[@]}" ${hardware[@]+"${hardware[@]}"} -o "$work/block.shardboard" >"$work/new.txt" 2>&1; then
    run=0
    for mode in serial batched; do
        timeout "$(at_most 90)" "$bin/shardctl" run "$work/block.shardboard" --backend $backend --dtype $dtype --layers 1 --no-ends --steps 5 --verify \
            --profile-mode $mode --profile "$work/profile-$mode.json" --json >"$work/block-$mode.json" 2>"$work/block-$mode.txt" </dev/null || run=1
        tail -3 "$work/block-$mode.txt" >&2
    done
else
    cat "$work/new.txt" >&2
fi

# Where there are two GPUs or more: whole programs with one for every logical device. The suite and a block over all of them.
gpus=0
[ $stand_in = 0 ] && gpus=$(nvidia-smi -L | wc -l)
[ "$gpus" -gt 8 ] && gpus=8
nccl_suite=null
nccl_block=null
timeout 20 "$bin/shardboard-engine" --conformance nccl --filter "no such case" >"$work/nccl-conformance.txt" 2>&1 # says what is missing
if [ "$gpus" -ge 2 ]; then
    say "several GPUs: conformance"
    nccl_suite=0
    timeout "$(at_most 120)" "$bin/shardboard-engine" --conformance nccl >"$work/nccl-conformance.txt" 2>&1 || nccl_suite=1
    say "several GPUs: a block of Llama 3 8B"
    nccl_block=1
    if "$bin/shardctl" new --model llama3-8b --mesh model=$gpus --preset megatron-tp --workload prefill --batch 8 --sequence 4096 \
        -o "$work/nccl.shardboard" >"$work/nccl-new.txt" 2>&1; then
        nccl_block=0
        for mode in serial batched; do
            timeout "$(at_most 90)" "$bin/shardctl" run "$work/nccl.shardboard" --backend nccl --dtype design --layers 1 --no-ends --steps 5 --verify \
                --profile-mode $mode --profile "$work/nccl-profile-$mode.json" --json >"$work/nccl-block-$mode.json" 2>"$work/nccl-block-$mode.txt" </dev/null ||
                nccl_block=1
            tail -3 "$work/nccl-block-$mode.txt" >&2
        done
    else
        cat "$work/nccl-new.txt" >&2
    fi
fi
tail -3 "$work/nccl-conformance.txt" >&2

# The same backend as processes of mpirun: a GPU for each where there are several, and where there is one, two processes that pretend to be
# on different hosts (NCCL_HOSTID), which says whether it works and nothing about speed. Without mpirun it is not tried.
nccl_processes=null
tried=$work/nccl-processes.txt
: >"$tried"
processes=$gpus # such numbers as the suite has models for
[ "$gpus" -gt 2 ] && [ "$gpus" -lt 4 ] && processes=2
[ "$gpus" -gt 4 ] && [ "$gpus" -lt 8 ] && processes=4
pretends=
[ "$gpus" -eq 1 ] && processes=2 && pretends=1
if [ "$gpus" -eq 0 ]; then
    echo "several processes were not tried: there is no GPU" >"$tried"
elif ! command -v mpirun >/dev/null; then
    echo "several processes were not tried: there is no mpirun (openmpi-bin), or build with libopenmpi-dev, too" >"$tried"
else
    say "nccl as $processes processes"
    nccl_processes=0
    for part in "reshard: 1" "model: llama"; do
        timeout "$(at_most 60)" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n "$processes" --oversubscribe --bind-to none \
            bash -c '[ -n "$0" ] && export NCCL_HOSTID=shardboard-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-0}}}; exec "$@"' "$pretends" \
            "$bin/shardboard-engine" --conformance nccl --devices "$processes" --filter "$part" >>"$tried" 2>&1 </dev/null
        case $? in
        0) ;;
        4) echo "$part: not tried" >>"$tried"; nccl_processes=null; break ;; # what is missing was said
        124) echo "$part: no end within a minute" >>"$tried"; nccl_processes=1 ;;
        *) nccl_processes=1 ;;
        esac
    done
fi
tail -4 "$tried" >&2

sanitized=null
if [ $sanitize = 1 ] && command -v compute-sanitizer >/dev/null; then
    sanitized=0
    for tool in memcheck racecheck; do
        say "compute-sanitizer, $tool"
        for part in "reshard" "op: rms_norm" "op: attention" "op: linear" "gradient: attention" "llama"; do
            timeout 60 compute-sanitizer --tool $tool --error-exitcode 9 "$bin/shardboard-engine" --conformance $backend --filter "$part" \
                >>"$work/sanitizer-$tool.txt" 2>&1
            code=$?
            [ $code = 9 ] && sanitized=1
        done
        grep "ERROR SUMMARY\|RACECHECK SUMMARY" "$work/sanitizer-$tool.txt" | sort | uniq -c >&2
    done
fi

# One document of those that there are; texts as JSON strings.
text() { sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/ /g' "$1" 2>/dev/null | tr -d '\r\000-\010\013\014\016-\037' | awk '{ printf "%s\\n", $0 }'; }
document() { if [ -s "$1" ]; then cat "$1"; else echo null; fi; }
device=$([ $stand_in = 1 ] && echo stand-in || nvidia-smi --query-gpu=name --format=csv,noheader | head -1)
date=$(date -u +%Y-%m-%d)
[ -n "$out" ] || out=$here/results/$(echo "$device" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')-$date.json
mkdir -p "$(dirname "$out")"
{
    printf '{"device": "%s", "date": "%s", "commit": "%s",\n' "$device" "$date" "$(git -C "$root" rev-parse --short HEAD 2>/dev/null)"
    printf '"driver": "%s", "nvcc": "%s", "build_seconds": %s,\n' \
        "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1)" "$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')" "$built"
    printf '"exit": {"conformance": %s, "nccl": %s, "nccl_conformance": %s, "nccl_block": %s, "nccl_processes": %s, "bench": %s, "calibrate": %s, "block": %s, "sanitizer": %s},\n' \
        $conformance $nccl $nccl_suite $nccl_block $nccl_processes $bench $calibrate $run $sanitized
    printf '"nccl": "%s",\n' "$(text "$work/nccl.txt")"
    printf '"nccl_conformance": "%s",\n' "$(text "$work/nccl-conformance.txt")"
    printf '"nccl_processes": "%s",\n' "$(text "$tried")"
    for mode in serial batched; do
        printf '"nccl_block_%s": ' $mode; document "$work/nccl-block-$mode.json"
        printf ',\n'
    done
    printf '"conformance": "%s",\n' "$(text "$work/conformance.txt")"
    printf '"bench": '; document "$work/bench.json"
    printf ',\n"calibration": '; document "$work/hardware.json"
    printf ',\n"calibration_text": "%s",\n' "$(text "$work/calibrate.txt")"
    printf '"block_serial": '; document "$work/block-serial.json"
    printf ',\n"block_batched": '; document "$work/block-batched.json"
    printf ',\n"sanitizer": "%s"}\n' "$(cat "$work"/sanitizer-*.txt 2>/dev/null | grep SUMMARY | sort | uniq -c | tr '\n"' '; ')"
} >"$out"
say "written: $out"
[ $conformance = 0 ] && [ $nccl = 0 ] && [ "$nccl_suite" != 1 ] && [ "$nccl_block" != 1 ] && [ "$nccl_processes" != 1 ] && [ $bench = 0 ] && [ $calibrate = 0 ] && [ $run = 0 ] && [ "$sanitized" != 1 ]
