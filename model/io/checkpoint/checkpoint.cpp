// SPDX-License-Identifier: Apache-2.0
#include "model/io/checkpoint/checkpoint.h"

#include "model/io/file/naturalorder.h"
#include "model/io/safetensors/checkpointfinding.h"
#include "model/io/safetensors/checkpointindex.h"
#include "model/io/safetensors/safetensors.h"
#include "model/text/contains.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

namespace shardboard {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTensors = 400'000;

/// Names in the folder that end so, in natural order.
std::vector<std::string> filesEndingIn(const std::string& folder, const std::string& ending)
{
    std::vector<std::string> out;
    std::error_code failed;
    for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator(); entry.increment(failed))
        if (const std::string name = entry->path().filename().string(); name.ends_with(ending))
            out.push_back(name);
    std::ranges::sort(out, naturalLess);
    return out;
}

/// Gathers headers file by file; what is wrong with the set becomes findings.
class FolderReader {
public:
    explicit FolderReader(const std::string& folder)
        : m_folder(folder)
    {
        m_out.place = folder;
    }

    Result<Checkpoint> read()
    {
        std::error_code failed;
        if (fs::directory_iterator(m_folder, failed); failed)
            return inputError(m_folder, "cannot be read: " + failed.message(), "check the path and its permissions");
        const std::string index = indexName();
        if (index.empty())
            m_out.files = looseFiles();
        else if (const auto status = takeIndex(index); !status.ok())
            return status.error();
        for (std::size_t file = 0; file < m_out.files.size(); ++file)
            if (const auto status = takeFile(file); !status.ok())
                return status.error();
        report();
        std::ranges::sort(m_out.tensors,
                          [](const CheckpointTensor& a, const CheckpointTensor& b) { return naturalLess(a.name, b.name); });
        return std::move(m_out);
    }

private:
    std::string pathOf(const std::string& name) const { return m_folder + "/" + name; }

    std::string indexName() const
    {
        for (const char* ending : { ".safetensors.index.json", ".bin.index.json" }) {
            const auto found = filesEndingIn(m_folder, ending);
            const std::string usual = ending[1] == 's' ? "model.safetensors.index.json" : "pytorch_model.bin.index.json";
            if (contains(found, usual))
                return usual;
            if (found.size() == 1)
                return found.front();
            if (!filesEndingIn(m_folder, ".safetensors").empty())
                break; // files that can be read tell more than an index of files that cannot
        }
        return {};
    }

    /// Without an index: model.safetensors, else model-*.safetensors, else all there are.
    std::vector<std::string> looseFiles() const
    {
        const auto all = filesEndingIn(m_folder, ".safetensors");
        if (contains(all, "model.safetensors"))
            return { "model.safetensors" };
        std::vector<std::string> shards;
        for (const std::string& name : all)
            if (name.starts_with("model-"))
                shards.push_back(name);
        return shards.empty() ? all : shards;
    }

    Status takeIndex(const std::string& name)
    {
        auto index = readCheckpointIndex(pathOf(name));
        if (!index.ok())
            return index.error();
        m_indexName = name;
        m_out.files = std::move(index.value().files);
        m_out.totalSize = index.value().totalSize;
        for (CheckpointIndex::Entry& entry : index.value().entries) {
            m_place.emplace(entry.tensor, Place { m_out.tensors.size(), entry.file });
            m_out.tensors.push_back({ std::move(entry.tensor), false, DType::BF16, {} });
        }
        return done();
    }

    Status takeFile(std::size_t file)
    {
        const std::string& name = m_out.files[file];
        const std::string path = pathOf(name);
        std::error_code failed;
        if (!fs::exists(path, failed)) {
            m_missing.add(name);
            return done();
        }
        if (const auto pointer = lfsPointerAt(path)) {
            m_pointers.add(name + " (" + std::to_string(pointer->bytes) + " bytes)");
            return done();
        }
        if (!name.ends_with(".safetensors")) {
            m_otherFormat.add(name);
            return done();
        }
        auto header = readSafetensorsHeader(path);
        if (!header.ok())
            return header.error();
        m_headers.add(name);
        for (StoredTensor& tensor : header.value())
            takeTensor(std::move(tensor), file);
        if (m_out.tensors.size() > kMostTensors)
            return inputError(m_folder, "more than " + std::to_string(kMostTensors) + " tensors", "name one of its files");
        m_read.push_back(file);
        return done();
    }

    void takeTensor(StoredTensor tensor, std::size_t file)
    {
        const auto found = m_place.find(tensor.name);
        if (found == m_place.end()) {
            if (!m_indexName.empty())
                m_notInIndex.add(tensor.name);
            m_place.emplace(tensor.name, Place { m_out.tensors.size(), file });
            m_out.tensors.push_back({ std::move(tensor.name), true, tensor.dtype, std::move(tensor.shape) });
            return;
        }
        CheckpointTensor& known = m_out.tensors[found->second.tensor];
        if (known.shapeKnown || found->second.file != file) {
            m_elsewhere.add(tensor.name + " in " + m_out.files[file]);
            if (known.shapeKnown)
                return;
        }
        known.shapeKnown = true;
        known.dtype = tensor.dtype;
        known.shape = std::move(tensor.shape);
    }

    void add(const std::string& kind, Severity severity, const std::string& message, const std::string& repair)
    {
        m_out.findings.push_back(checkpointFinding(kind, severity, m_folder, message, repair));
    }

    void report()
    {
        if (m_pointers.count() > 0)
            add("lfs-pointer", Severity::Warning,
                m_pointers.counted("weight file") + (m_pointers.count() == 1 ? " is a Git LFS pointer" : " are Git LFS pointers")
                    + " in place of weights: " + m_pointers.text() + "; shapes cannot be read from "
                    + (m_pointers.count() == 1 ? "it" : "them"),
                "run 'git lfs pull' in the folder");
        if (m_otherFormat.count() > 0)
            add("checkpoint-file", Severity::Note,
                m_otherFormat.counted("weight file") + " in another format than safetensors: only names are known, from the index",
                "convert to safetensors to have shapes checked");
        if (m_missing.count() > 0 && m_headers.count() == 0)
            add("checkpoint-file", Severity::Note,
                m_missing.counted("weight file") + (m_missing.count() == 1 ? " is" : " are") + " not there (" + m_missing.text()
                    + "): names come from the index, and shapes only from config.json",
                "");
        else if (m_missing.count() > 0)
            add("checkpoint-file", Severity::Warning,
                m_missing.counted("weight file") + " named by " + m_indexName + " missing: " + m_missing.text(),
                "get the missing files");
        reportContents();
    }

    void reportContents()
    {
        if (m_notInIndex.count() > 0)
            add("checkpoint-index", Severity::Warning,
                m_notInIndex.counted("tensor") + " in the files but not in " + m_indexName + ": " + m_notInIndex.text(),
                "make the index again");
        if (m_elsewhere.count() > 0)
            add("checkpoint-index", Severity::Error,
                m_elsewhere.counted("tensor")
                    + (m_indexName.empty() ? " in several files: " : " in another file than the index says: ") + m_elsewhere.text(),
                m_indexName.empty() ? "remove the files that do not belong together" : "make the index again");
        std::vector<char> wasRead(m_out.files.size(), 0);
        for (const std::size_t file : m_read)
            wasRead[file] = 1;
        Examples absent;
        for (const CheckpointTensor& tensor : m_out.tensors)
            if (const Place place = m_place.at(tensor.name); !tensor.shapeKnown && wasRead[place.file])
                absent.add(tensor.name + " in " + m_out.files[place.file]);
        if (absent.count() > 0)
            add("checkpoint-index", Severity::Error,
                absent.counted("tensor") + " that " + m_indexName + " names not in the file it names: " + absent.text(),
                "get the files again, or make the index again");
    }

    struct Place {
        std::size_t tensor = 0; ///< index into tensors
        std::size_t file = 0; ///< index into files
    };
    std::string m_folder;
    std::string m_indexName;
    Checkpoint m_out;
    std::unordered_map<std::string, Place> m_place;
    std::vector<std::size_t> m_read;
    Examples m_missing, m_pointers, m_otherFormat, m_headers, m_notInIndex, m_elsewhere;
};

} // namespace

Result<Checkpoint> readCheckpointFolder(const std::string& folder) { return FolderReader(folder).read(); }

Result<Checkpoint> readCheckpointFile(const std::string& path)
{
    auto header = readSafetensorsHeader(path);
    if (!header.ok())
        return header.error();
    Checkpoint out;
    out.place = path;
    out.files = { fs::path(path).filename().string() };
    for (StoredTensor& tensor : header.value())
        out.tensors.push_back({ std::move(tensor.name), true, tensor.dtype, std::move(tensor.shape) });
    std::ranges::sort(out.tensors,
                      [](const CheckpointTensor& a, const CheckpointTensor& b) { return naturalLess(a.name, b.name); });
    return out;
}

} // namespace shardboard
