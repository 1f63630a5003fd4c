#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/field_test_support.h"
#include "cache/cache.h"
#include "store/scratch_folder.h"
#include "store/store.h"
#include "telemetry/log.h"

namespace forebay {

inline Hash128 id_of(uint64_t n) { return hash128(&n, sizeof n); }

template <typename T>
Buffer buffer_of(const std::vector<T>& values) {
  Buffer buffer = Buffer::allocate(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

inline Buffer buffer_of(std::string_view text) {
  Buffer buffer = Buffer::allocate(text.size());
  if (!text.empty()) std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

/// Returns rows with every kind of field; each value follows from `seed` and its row.
inline Columns columns_of_seed(uint64_t seed, int64_t rows) {
  std::vector<float> pairs;
  std::vector<int64_t> list, list_ends{0}, text_ends{0};
  std::string texts;
  for (int64_t row = 0; row < rows; ++row) {
    const uint64_t n = seed * 1000 + static_cast<uint64_t>(row);
    pairs.push_back(static_cast<float>(n));
    pairs.push_back(static_cast<float>(n) / 2);
    for (uint64_t i = 0; i < n % 4; ++i) list.push_back(static_cast<int64_t>(n + i));
    list_ends.push_back(static_cast<int64_t>(list.size()));
    texts += "row " + std::to_string(n);
    text_ends.push_back(static_cast<int64_t>(texts.size()));
  }
  Columns columns;
  columns.rows = rows;
  columns.schema = Schema({field_of("pair", FieldKind::kTensor, DType::kFloat32, {2}),
                           field_of("list", FieldKind::kTensor, DType::kInt64, {Shape::kUnknown}),
                           field_of("name", FieldKind::kText)});
  columns.values = {
      {buffer_of(pairs), {}}, {buffer_of(list), buffer_of(list_ends)}, {buffer_of(texts), buffer_of(text_ends)}};
  return columns;
}

inline std::shared_ptr<const Columns> shared_columns(uint64_t seed, int64_t rows) {
  return std::make_shared<const Columns>(columns_of_seed(seed, rows));
}

/// Compares row by row, as readers see them.
inline bool same_columns(const Columns& a, const Columns& b) {
  if (a.rows != b.rows || a.schema.size() != b.schema.size()) return false;
  const auto equal = [](const Buffer& x, const Buffer& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
  };
  for (size_t i = 0; i < a.schema.size(); ++i) {
    if (a.schema[i].to_string() != b.schema[i].to_string()) return false;
  }
  for (int64_t row = 0; row < a.rows; ++row) {
    const Record left = a.row(row), right = b.row(row);
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i].kind != right[i].kind || !equal(left[i].bytes, right[i].bytes)) return false;
      if (left[i].kind == FieldKind::kTensor && !(left[i].shape() == right[i].shape())) return false;
      if (!equal(left[i].tensor.buffer, right[i].tensor.buffer)) return false;
    }
  }
  return true;
}

/// Collects the lines that are logged during its life.
class LoggedLines {
 public:
  LoggedLines() {
    set_log_sink([this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    });
  }
  ~LoggedLines() { set_log_sink(nullptr); }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Looks an entry up as the engine does: reads and opens what find() returns. Null for a miss or a
/// damaged entry.
inline std::shared_ptr<const Columns> looked_up(EntryCache& cache, const Hash128& id) {
  auto found = cache.find(id);
  if (!found) return nullptr;
  if (found->columns) return found->columns;
  Result<Buffer> stored = read_wait(*found->store, found->request, {});
  auto opened = cache.open(id, stored.ok() ? std::move(*stored) : Buffer());
  return opened.ok() ? *opened : nullptr;
}

/// Returns the bytes that a folder uses by the file system's account.
inline uint64_t disk_use(const std::string& folder) {
  uint64_t bytes = 0;
  const auto add = [&](const std::filesystem::path& path) {
    struct ::stat info;
    if (::lstat(path.c_str(), &info) == 0)
      bytes += std::max<uint64_t>(static_cast<uint64_t>(info.st_blocks) * 512,
                                  S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0);
  };
  add(folder);
  std::error_code ignored;
  for (auto it = std::filesystem::recursive_directory_iterator(folder, ignored);
       !ignored && it != std::filesystem::recursive_directory_iterator(); it.increment(ignored)) {
    add(it->path());
  }
  return bytes;
}

}  // namespace forebay
