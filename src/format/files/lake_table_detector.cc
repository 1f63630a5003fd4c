#include "format/files/lake_table_detector.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "format/files/find_files.h"
#include "store/store.h"

namespace forebay {

namespace {

constexpr size_t kMaxAsked = 64;  // limit of folders that are looked into; each costs a request

std::string_view name_of(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

/// The parent folder of `path`. Empty at the top.
std::string parent_of(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(0, path.rfind('/') + 1));
}

bool holds_any(Store& store, const std::string& folder, const std::stop_token& stop,
               const std::function<bool(std::string_view)>& wanted) {
  ListRequest request;
  request.prefix = folder;
  const Result<ListPage> page = list_wait(store, request, stop);
  return page.ok() &&
         std::ranges::any_of(page->objects, [&](const ObjectInfo& object) { return wanted(name_of(object.key)); });
}

bool is_iceberg(Store& store, const std::string& folder, const std::stop_token& stop) {
  return holds_any(store, folder + "metadata/", stop, [](std::string_view name) {
    return name.ends_with(".metadata.json") || name == "version-hint.text" || name.ends_with(".metadata.json.gz");
  });
}

bool is_delta(Store& store, const std::string& folder, const std::stop_token& stop) {
  return holds_any(store, folder + "_delta_log/", stop, [](std::string_view) { return true; });
}

bool is_hudi(Store& store, const std::string& folder, const std::stop_token& stop) {
  return holds_any(store, folder + ".hoodie/", stop, [](std::string_view name) { return name == "hoodie.properties"; });
}

/// Removes digits, and the character before them, from the end of `text`.
bool strip_number(std::string_view& text, char before) {
  size_t n = 0;
  while (n < text.size() && std::isdigit(static_cast<unsigned char>(text[text.size() - 1 - n]))) ++n;
  if (n == 0 || n == text.size() || text[text.size() - 1 - n] != before) return false;
  text.remove_suffix(n + 1);
  return true;
}

/// Matches "ID_0-12-7_20260131.parquet": file group, write token and instant, as Hudi names its
/// files.
bool named_by_hudi(std::string_view name) {
  if (!name.ends_with(".parquet")) return false;
  name.remove_suffix(std::string_view(".parquet").size());
  return strip_number(name, '_') && strip_number(name, '-') && strip_number(name, '-') && strip_number(name, '_');
}

Status refused(Store& store, const std::string& folder, std::string_view kind, std::string_view live_files) {
  return unsupported(
      fmt::format("'{}' is {} table: beside the live rows its files hold deleted and replaced ones, and its log, which "
                  "tells them apart, is not read. Give the list of its live files ({}), or the list of all files "
                  "for all rows there ever were",
                  store.display_name(folder), kind, live_files));
}

Status refuse_delta(Store& store, const std::string& folder) {
  return refused(store, folder, "a Delta", "deltalake: DeltaTable(...).file_uris()");
}

Status refuse_iceberg(Store& store, const std::string& folder) {
  return refused(
      store, folder, "an Iceberg",
      "pyiceberg: [task.file.file_path for task in table.scan().plan_files()], where no task has delete_files");
}

Status refuse_hudi(Store& store, const std::string& folder) {
  return refused(store, folder, "a Hudi",
                 "the paths that its snapshot query gives in _hoodie_file_name, or a snapshot export");
}

/// The possible roots of a table whose folder "data" or partition is `base`; empty if `base` is
/// neither.
std::vector<std::string> roots_above(const std::string& base) {
  std::vector<std::string> roots;
  std::string folder = base;
  while (name_of(folder).find('=') != std::string_view::npos) roots.push_back(folder = parent_of(folder));
  if (name_of(folder) == "data") roots.push_back(parent_of(folder));
  return roots;
}

/// The folders that contain `key`, from the innermost upwards.
std::vector<std::string> folders_above(const std::string& key) {
  std::vector<std::string> folders;
  for (std::string folder = parent_of(key);; folder = parent_of(folder)) {
    folders.push_back(folder);
    if (folder.empty() || folder == "/" || folders.size() == kMaxAsked) return folders;
  }
}

}  // namespace

void LakeTableDetector::add_folders(const std::string& folder, std::span<const std::string> subfolders) {
  for (const std::string& each : subfolders) {
    if (name_of(each) == "_delta_log") delta_tables_.insert(folder);
    if (name_of(each) == "metadata" && iceberg_candidates_.size() < kMaxAsked) iceberg_candidates_.insert(folder);
  }
}

Status LakeTableDetector::check_no_tables(const DataFiles& files, const std::stop_token& stop) const {
  Store& store = *files.store;
  const auto is_parquet = [](const DataFile& file) { return file.key.ends_with(".parquet"); };
  const auto first = std::ranges::find_if(files.files, is_parquet);
  if (first == files.files.end()) return {};
  if (!delta_tables_.empty()) return refuse_delta(store, *delta_tables_.begin());
  for (const std::string& folder : iceberg_candidates_) {
    if (is_iceberg(store, folder, stop)) return refuse_iceberg(store, folder);
  }
  for (const std::string& root : roots_above(files.base)) {
    if (is_iceberg(store, root, stop)) return refuse_iceberg(store, root);
    if (is_delta(store, root, stop)) return refuse_delta(store, root);
  }
  const auto hudi =
      std::ranges::find_if(files.files, [](const DataFile& file) { return named_by_hudi(name_of(file.key)); });
  if (hudi == files.files.end()) return {};
  for (const std::string& folder : folders_above(hudi->key)) {
    if (is_hudi(store, folder, stop)) return refuse_hudi(store, folder);
  }
  return {};
}

}  // namespace forebay
