#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "base/work_memory.h"
#include "format/webdataset/tar_header.h"
#include "format/webdataset/tar_walker.h"
#include "store/store.h"

namespace forebay::tar_test {

inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Writes the checksum of a header that is otherwise complete.
inline void seal(std::string& block) {
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<uint8_t>(c);
  block.replace(148, 7, fmt::format("{:06o}", sum).append(1, '\0'));
}

inline std::string header(std::string_view name, uint64_t size, char type = '0', std::string_view prefix = "") {
  std::string block(kTarBlockBytes, '\0');
  block.replace(0, std::min<size_t>(name.size(), 100), name.substr(0, 100));
  block.replace(100, 7, "0000644");
  block.replace(124, 11, fmt::format("{:011o}", size));
  block.replace(156, 1, 1, type);
  block.replace(257, 8, std::string_view("ustar\00000", 8));
  block.replace(345, std::min<size_t>(prefix.size(), 155), prefix.substr(0, 155));
  seal(block);
  return block;
}

inline std::string padded(std::string data) {
  data.resize(whole_tar_blocks(data.size()), '\0');
  return data;
}

inline std::string entry(std::string_view name, const std::string& data, char type = '0',
                         std::string_view prefix = "") {
  return header(name, data.size(), type, prefix) + padded(data);
}

inline std::string pax_record(std::string_view key, std::string_view value) {
  size_t length = key.size() + value.size() + 3;
  while (fmt::format("{}", length).size() + key.size() + value.size() + 3 != length)
    length = fmt::format("{}", length).size() + key.size() + value.size() + 3;
  return fmt::format("{} {}={}\n", length, key, value);
}

inline std::string end_of_tar() { return std::string(2 * kTarBlockBytes, '\0'); }

using Files = std::vector<std::pair<std::string, std::string>>;
inline std::string tar_of(const Files& files) {
  std::string tar;
  for (const auto& [name, data] : files) tar += entry(name, data);
  return tar + end_of_tar();
}

/// Two extensions per sample: 000.jpg, 000.cls, …
inline std::string numbered_shard(int first, int count, size_t bytes = 10) {
  Files files;
  for (int i = first; i < first + count; ++i) {
    files.emplace_back(fmt::format("{:03}.jpg", i), std::string(bytes, static_cast<char>('a' + i % 26)));
    files.emplace_back(fmt::format("{:03}.cls", i), std::to_string(i));
  }
  return tar_of(files);
}

inline Result<Columns> decoded(const ChunkSource& source, int64_t chunk) {
  const auto fetch = source.chunk_fetch(chunk);
  std::vector<Buffer> fetched;
  for (const ReadRequest& request : fetch.requests) {
    FOREBAY_ASSIGN(Buffer bytes, read_wait(*fetch.store, request, {}));
    fetched.push_back(std::move(bytes));
  }
  WorkMemory memory;
  return source.decode(chunk, std::move(fetched), memory);
}

/// "jpg=aaa|cls=1|key=000" for each sample, "bad: …" for bad rows.
inline std::vector<std::string> samples_of(const ChunkSource& source) {
  std::vector<std::string> samples;
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk) {
    const auto columns = decoded(source, chunk);
    if (!columns.ok()) {
      samples.push_back(columns.status().to_string());
      continue;
    }
    for (int64_t row = 0; row < columns->rows; ++row) {
      std::string text;
      for (size_t i = 0; i < columns->schema.size(); ++i) {
        const Field& field = columns->schema[i];
        const ColumnValues& column = columns->values[i];
        text += fmt::format("{}{}=", i > 0 ? "|" : "", field.name);
        if (field.kind != FieldKind::kTensor) {
          const int64_t* const at = column.offset() + row;
          text.append(reinterpret_cast<const char*>(column.values.data()) + at[0], static_cast<size_t>(at[1] - at[0]));
        } else if (field.dtype == DType::kBool) {
          text += column.values.data()[row] != 0 ? "yes" : "no";
        } else {
          text += std::to_string(reinterpret_cast<const int64_t*>(column.values.data())[row]);
        }
      }
      const bool bad = columns->bad_rows && columns->bad_rows->contains(row);
      samples.push_back(bad ? "bad: " + columns->bad_rows->at(row).to_string() : text);
    }
  }
  return samples;
}

}  // namespace forebay::tar_test
