#include "format/lines/line_table.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "format/files/stat_all.h"
#include "format/lines/line_index_files.h"
#include "format/lines/scan_files.h"

namespace forebay {

namespace {

/// Asks for sizes and versions that the listing did not give.
Status ask_sizes(Store& store, std::vector<DataFile>& files, std::stop_token stop) {
  std::vector<size_t> unknown;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].size) unknown.push_back(i);
  }
  const auto file_at = [&](int64_t i) -> DataFile& { return files[unknown[static_cast<size_t>(i)]]; };
  FOREBAY_RETURN_IF_ERROR(stat_all(
      store, static_cast<int64_t>(unknown.size()), [&](int64_t i) { return file_at(i).key; }, std::move(stop),
      [&](int64_t i, const ObjectInfo* info) {
        if (info == nullptr) return;
        file_at(i).size = info->size;
        file_at(i).version = info->version;
      }));
  for (const size_t i : unknown) {
    if (files[i].size) continue;
    return not_found(fmt::format("'{}' does not exist; the nearest folder that does is '{}'",
                                 store.display_name(files[i].key), nearest_folder(store, files[i].key)));
  }
  return {};
}

void add_chunks(LineTable& table, size_t file, std::span<const LineSlice> slices, int64_t& next) {
  bool every_line = true;
  for (const LineSlice& slice : slices) {
    every_line = every_line && slice.first_line == slice.first_row;
    table.chunks.push_back({static_cast<uint32_t>(file), slice});
    table.begins.push_back(next += slice.rows);
  }
  if (table.files[file].form.values) every_line = false;
  // In a file of one slice a blank line could go unnoticed, so rows are called records there as
  // well.
  table.every_line.push_back(table.rows == LineRows::kAll || (every_line && slices.size() > 1));
}

}  // namespace

int64_t LineTable::chunk_of(int64_t id) const { return std::ranges::upper_bound(begins, id) - begins.begin() - 1; }

uint64_t LineTable::index_bytes() const {
  uint64_t bytes = chunks.capacity() * sizeof(LineChunk) + begins.capacity() * sizeof(int64_t);
  for (const LineFile& file : files) bytes += sizeof file + file.key.capacity();
  return bytes;
}

std::string default_line_index_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const std::string cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (cache.starts_with('/')) return cache + "/forebay/lines";
  return home.starts_with('/') ? home + "/.cache/forebay/lines" : "";
}

Result<std::shared_ptr<const LineTable>> open_lines(StoreAndPath at, const std::vector<std::string>& names,
                                                    bool is_list, const OpenLinesOptions& options,
                                                    std::stop_token stop) {
  FOREBAY_ASSIGN(DataFiles found, find_data_files(std::move(at), {is_list, names, options.endings}, stop));
  FOREBAY_RETURN_IF_ERROR(ask_sizes(*found.store, found.files, stop));
  auto table = std::make_shared<LineTable>();
  table->store = found.store;
  table->base = found.base;
  table->rows = options.rows;
  Hasher hasher;
  for (const DataFile& file : found.files) {
    table->files.push_back({file.key, *file.size, file.version, {}});
    // Versions are not hashed, so copies of the same files elsewhere are the same data set.
    hasher.update(fmt::format("{} {}\n", table->name(table->files.back()), *file.size));
  }
  table->version = hasher.digest();
  FOREBAY_ASSIGN(const auto slices, scan_files(*table->store, table->files, options, std::move(stop)));
  table->begins.push_back(0);
  int64_t next = 0;
  for (size_t file = 0; file < slices.size(); ++file) add_chunks(*table, file, slices[file], next);
  return std::shared_ptr<const LineTable>(std::move(table));
}

}  // namespace forebay
