// SPDX-License-Identifier: Apache-2.0
// Makes small checkpoints for tests, independent of the reader under test.
#pragma once

#include "tests/support/files.h"

#include <QByteArray>
#include <QtEndian>

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard::test {

inline QByteArray lengthBytes(quint64 length)
{
    QByteArray out(8, '\0');
    qToLittleEndian(length, out.data());
    return out;
}

/// A .safetensors file: length, header, `dataBytes` zero bytes.
inline QByteArray safetensors(const QByteArray& header, qsizetype dataBytes)
{
    return lengthBytes(static_cast<quint64>(header.size())) + header + QByteArray(dataBytes, '\0');
}

struct MadeTensor {
    std::string name;
    std::vector<std::int64_t> shape;
};

/// BF16 tensors one after the other.
inline QByteArray safetensorsOf(const std::vector<MadeTensor>& tensors)
{
    QByteArray header = "{";
    std::int64_t offset = 0;
    for (const MadeTensor& tensor : tensors) {
        std::int64_t bytes = 2;
        QByteArray shape;
        for (const std::int64_t size : tensor.shape) {
            bytes *= size;
            shape += (shape.isEmpty() ? "" : ",") + QByteArray::number(static_cast<qlonglong>(size));
        }
        header += (header.size() > 1 ? "," : "") + QByteArray("\"") + tensor.name.c_str() + "\":{\"dtype\":\"BF16\",\"shape\":["
            + shape + "],\"data_offsets\":[" + QByteArray::number(static_cast<qlonglong>(offset)) + ","
            + QByteArray::number(static_cast<qlonglong>(offset + bytes)) + "]}";
        offset += bytes;
    }
    return safetensors(header + "}", static_cast<qsizetype>(offset));
}

/// The weights of a decoder as Hugging Face names them: hidden 8, intermediate 16, vocabulary 32, `layers` layers,
/// 2 heads and 1 KV head of 4.
inline std::vector<MadeTensor> tinyDecoder(int layers, const std::string& prefix = "model.")
{
    std::vector<MadeTensor> out { { prefix + "embed_tokens.weight", { 32, 8 } }, { prefix + "norm.weight", { 8 } } };
    for (int i = 0; i < layers; ++i) {
        const std::string layer = prefix + "layers." + std::to_string(i) + ".";
        const std::vector<MadeTensor> block {
            { layer + "self_attn.q_proj.weight", { 8, 8 } },      { layer + "self_attn.k_proj.weight", { 4, 8 } },
            { layer + "self_attn.v_proj.weight", { 4, 8 } },      { layer + "self_attn.o_proj.weight", { 8, 8 } },
            { layer + "mlp.gate_proj.weight", { 16, 8 } },        { layer + "mlp.up_proj.weight", { 16, 8 } },
            { layer + "mlp.down_proj.weight", { 8, 16 } },        { layer + "input_layernorm.weight", { 8 } },
            { layer + "post_attention_layernorm.weight", { 8 } },
        };
        out.insert(out.end(), block.begin(), block.end());
    }
    return out;
}

} // namespace shardboard::test
