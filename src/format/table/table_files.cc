#include "format/table/table_files.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "format/objects/braces.h"
#include "format/objects/glob.h"
#include "format/objects/stat_all.h"
#include "format/objects/walk.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

// A map: alternatives of a pattern may overlap, and ids follow the byte order of the keys.
using FoundFiles = std::map<std::string, TableFileEntry>;

TableFileEntry entry_of(const ObjectInfo& info, std::string key) { return {std::move(key), info.size, info.version}; }

std::string_view last_name(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string folders_of(std::string_view key) { return std::string(key.substr(0, key.rfind('/') + 1)); }

bool ends_in(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

Status is_delta_table(Store& store, const std::string& folder, const TablePlace& place) {
  return unsupported(
      fmt::format("'{}' is a Delta table: beside the live rows its files hold deleted ones, and its log, which tells "
                  "them apart, is not "
                  "read. Give the list of its live files (deltalake: DeltaTable(...).file_uris()), or the pattern "
                  "'**/*{}' below it for all "
                  "there ever were",
                  store.display_name(folder), place.endings.front()));
}

/// Everything below `folder`.
Status search_folder(Store& store, const std::string& folder, const TablePlace& place, std::stop_token stop,
                     FoundFiles& found) {
  std::optional<std::string> delta;
  const Status walked = walk(store, folder, std::move(stop), [&](const std::string& in, ListPage& page) {
    for (ObjectInfo& object : page.objects) {
      const std::string_view name = last_name(object.key);
      if (!is_aside(name) && ends_in(name, place.endings)) found.emplace(object.key, entry_of(object, object.key));
    }
    std::erase_if(page.prefixes, [&](const std::string& below) {
      if (last_name(below) == "_delta_log" && (!delta || in < *delta)) delta = in;
      return is_aside(last_name(below));
    });
  });
  if (walked.ok() && delta) return is_delta_table(store, *delta, place);
  return walked.code() == Code::kNotFound ? Status() : walked;
}

Status search_pattern(Store& store, const std::string& pattern, std::stop_token stop, FoundFiles& found) {
  const Glob glob(pattern);
  const std::string& base = glob.base();
  const bool takes_aside = is_aside(last_name(pattern));
  const Status walked = walk(store, base, std::move(stop), [&](const std::string&, ListPage& page) {
    for (ObjectInfo& object : page.objects) {
      if ((takes_aside || !is_aside(last_name(object.key))) &&
          glob.matches(std::string_view(object.key).substr(base.size())))
        found.emplace(object.key, entry_of(object, object.key));
    }
    std::erase_if(page.prefixes, [&](const std::string& below) {
      return is_aside(last_name(below)) || !glob.may_match_below(std::string_view(below).substr(base.size()));
    });
  });
  return walked.code() == Code::kNotFound ? Status() : walked;
}

Status nothing_there(Store& store, const std::string& name, const std::string& searched) {
  return not_found(fmt::format("nothing matches '{}'; the nearest folder that exists is '{}'",
                               store.remote() ? store.display_name(name) : name,
                               nearest_folder(store, searched + "x")));
}

/// A name in which nothing is special: a file, or else a folder.
Status look_up(Store& store, const std::string& name, const TablePlace& place, std::stop_token stop, std::string& base,
               FoundFiles& found) {
  const bool folder_said = name.empty() || name.ends_with('/');
  if (!folder_said) {
    const Result<ObjectInfo> info = stat_wait(store, name, stop);
    if (info.ok()) {
      base = folders_of(name);
      found.emplace(name, entry_of(*info, name));
      return {};
    }
    const Code code = info.status().code();
    // Unsupported: a local store found a folder of that name.
    if (code != Code::kNotFound && code != Code::kUnsupported) return info.status();
  }
  base = folder_said ? name : name + "/";
  FOREBAY_RETURN_IF_ERROR(search_folder(store, base, place, stop, found));
  if (!found.empty()) return {};
  ListRequest any;
  any.prefix = base;
  any.max_keys = 1;
  const Result<ListPage> listed = list_wait(store, any, std::move(stop));
  if (!listed.ok() || (listed->objects.empty() && listed->prefixes.empty())) return nothing_there(store, name, name);
  return not_found(
      fmt::format("no file that ends in {} below '{}'; files of other names are found by a pattern such as '{}**'",
                  fmt::join(place.endings, ", "), store.display_name(base), base));
}

Result<TableFiles> find_pattern(StoreAndPath at, const TablePlace& place, std::stop_token stop) {
  FOREBAY_ASSIGN(const std::vector<std::string> alternatives, expand_braces(at.path));
  TableFiles result{at.store, "", {}, at.warnings};
  FoundFiles found;
  for (const std::string& alternative : alternatives) {
    if (Glob::has_wildcards(alternative)) {
      FOREBAY_RETURN_IF_ERROR(search_pattern(*at.store, alternative, stop, found));
    } else if (alternatives.size() > 1) {
      found.emplace(alternative, TableFileEntry{alternative, {}, 0});  // asked for when it is opened
    } else {
      FOREBAY_RETURN_IF_ERROR(look_up(*at.store, alternative, place, stop, result.base, found));
    }
  }
  const size_t special = std::min(at.path.find_first_of("*?[{"), at.path.size());
  // Braces count, too: what they spell out may be partition folders.
  if (special < at.path.size()) result.base = folders_of(std::string_view(at.path).substr(0, special));
  if (found.empty()) return nothing_there(*at.store, at.path, Glob(alternatives.front()).base());
  for (auto& [key, entry] : found) result.files.push_back(std::move(entry));
  return result;
}

/// The folders that both begin with.
std::string common_folders(std::string_view a, std::string_view b) {
  const size_t same = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  return folders_of(a.substr(0, same));
}

Result<TableFiles> find_list(StoreAndPath at, const std::vector<std::string>& names) {
  FoundFiles found;
  for (const std::string& name : names) {
    FOREBAY_ASSIGN(UrlPlace file, parse_url(name));
    if (file.store != at.name) {
      return invalid_argument(
          fmt::format("'{}' lies in another store than '{}', the first of the list; a table is of "
                      "one store (one bucket): make a pipeline for each",
                      url_for_messages(name), url_for_messages(names.front())));
    }
    found.emplace(file.path, TableFileEntry{file.path, {}, 0});
  }
  TableFiles result{at.store, folders_of(found.begin()->first), {}, at.warnings};
  result.base = common_folders(result.base, folders_of(found.rbegin()->first));  // sorted: these two differ most
  for (auto& [key, entry] : found) result.files.push_back(std::move(entry));
  return result;
}

/// Plain HTTP cannot be listed, and '?' begins the query of a URL.
Result<TableFiles> find_urls(StoreAndPath at) {
  const std::string& pattern = at.path;
  if (pattern.find('*') != std::string::npos || pattern.ends_with('/')) {
    return unsupported("plain HTTP cannot be listed: spell the files out with braces ({000..099}) or give a list");
  }
  FOREBAY_ASSIGN(const std::vector<std::string> names, expand_braces(pattern));
  return find_list(std::move(at), names);
}

}  // namespace

// Spark writes partition folders of a column called "_x" as "_x=1".
bool is_aside(std::string_view name) {
  return name.starts_with('.') || (name.starts_with('_') && name.find('=') == std::string_view::npos) ||
         name.ends_with(".crc");
}

Result<TableFiles> find_table_files(StoreAndPath at, const TablePlace& place, std::stop_token stop) {
  if (place.is_list) return find_list(std::move(at), place.names);
  if (at.name == "http") return find_urls(std::move(at));
  return find_pattern(std::move(at), place, std::move(stop));
}

}  // namespace forebay
