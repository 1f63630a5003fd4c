#include "format/files/find_files.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "format/files/braces.h"
#include "format/files/glob.h"
#include "format/files/lake_table_detector.h"
#include "format/files/left_out.h"
#include "format/files/path_pattern.h"
#include "format/files/stat_all.h"
#include "format/files/walk.h"

namespace forebay {

namespace {

// A map, because alternatives of a pattern may overlap and ids follow the byte order of the keys.
using FoundFiles = std::map<std::string, DataFile>;

DataFile entry_of(const ObjectInfo& info, std::string key) { return {std::move(key), info.size, info.version}; }

std::string_view last_name(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string folders_of(std::string_view key) { return std::string(key.substr(0, key.rfind('/') + 1)); }

bool ends_in(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

/// State of a search for files.
struct Search {
  Store& store;
  const DataLocation& location;
  std::stop_token stop;
  DataWarnings* warnings;
  FoundFiles found = {};
  std::set<std::string> dead_links = {};  // to files, or to folders that may have held some
  LakeTableDetector lakes = {};
};

void add_file(Search& search, ObjectInfo& object) {
  if (object.dead_link) {
    search.dead_links.insert(std::move(object.key));
    return;
  }
  DataFile entry = entry_of(object, object.key);
  // A socket, a FIFO or a device has no version in a listing. Asking for it reports what it is.
  if (object.size == 0 && object.version == 0) entry.size.reset();
  search.found.emplace(std::move(object.key), std::move(entry));
}

void warn_left_out(Search& search, const OmissionReason& kind, std::string_view key, const std::string& base) {
  if (search.warnings != nullptr) search.warnings->add(kind, key.substr(base.size()));
}

/// Records a dead link that is not named like a file of the data set: it may have been a folder
/// with such files.
void record_dead_link(Search& search, const std::string& key, const std::string& base) {
  if (may_name_folder(last_name(key)))
    search.dead_links.insert(key);
  else
    warn_left_out(search, kDeadLinks, key, base);
}

/// Adds everything below `folder`.
Status search_folder(Search& search, const std::string& folder) {
  const Status walked = walk(search.store, folder, search.stop, [&](const std::string& in, ListPage& page) {
    for (ObjectInfo& object : page.objects) {
      const std::string_view name = last_name(object.key);
      if (is_auxiliary_name(name)) continue;
      if (ends_in(name, search.location.endings))
        add_file(search, object);
      else if (object.dead_link)
        record_dead_link(search, object.key, folder);
      else if (looks_like_data(name))
        warn_left_out(search, kUnreadFiles, object.key, folder);
    }
    for (const std::string& link : page.circular) warn_left_out(search, kCircularLinks, link, folder);
    search.lakes.add_folders(in, page.prefixes);
    std::erase_if(page.prefixes, [&](const std::string& below) { return is_auxiliary_name(last_name(below)); });
  });
  return walked.code() == Code::kNotFound ? Status() : walked;
}

Status search_pattern(Search& search, const std::string& pattern) {
  const Glob glob(pattern);
  const std::string& base = glob.base();
  const bool includes_auxiliary = is_auxiliary_name(last_name(pattern));
  const auto may_match_below = [&](const std::string& folder) {
    return !is_auxiliary_name(last_name(folder)) && glob.may_match_below(std::string_view(folder).substr(base.size()));
  };
  const Status walked = walk(search.store, base, search.stop, [&](const std::string& in, ListPage& page) {
    for (ObjectInfo& object : page.objects) {
      const bool aside = !includes_auxiliary && is_auxiliary_name(last_name(object.key));
      if (!aside && glob.matches(std::string_view(object.key).substr(base.size())))
        add_file(search, object);
      else if (object.dead_link && may_match_below(object.key + '/'))
        record_dead_link(search, object.key, base);
    }
    for (const std::string& link : page.circular) {
      if (may_match_below(link + '/')) warn_left_out(search, kCircularLinks, link, base);
    }
    search.lakes.add_folders(in, page.prefixes);
    std::erase_if(page.prefixes, [&](const std::string& below) { return !may_match_below(below); });
  });
  return walked.code() == Code::kNotFound ? Status() : walked;
}

/// A part of a data set must not be lost silently because a folder is missing.
Status check_links(const Search& search) {
  if (search.dead_links.empty()) return {};
  const bool one = search.dead_links.size() == 1;
  return not_found(fmt::format(
                       "{} symbolic link{} nowhere, to a file of the data or to a folder that may hold some: fetch the "
                       "content (git annex get, dvc pull), mount the disk, remove the links, or give the list of files",
                       search.dead_links.size(), one ? " leads" : "s lead"))
      .with_key(search.store.display_name(*search.dead_links.begin()));
}

/// Looks up a name without special characters: a file, or else a folder. Returns the base of the
/// keys.
Result<std::string> look_up(Search& search, const std::string& name) {
  Store& store = search.store;
  const bool must_be_folder = name.empty() || name.ends_with('/');
  const std::string base = must_be_folder ? name : name + "/";
  const auto list_any = [&] {
    ListRequest any;
    any.prefix = base;
    any.max_keys = 1;
    return list_wait(store, any, search.stop);
  };
  if (!must_be_folder) {
    const Result<ObjectInfo> info = stat_wait(store, name, search.stop);
    // An object of 0 bytes next to a folder of its name is a marker that bucket consoles create.
    if (info.ok() && (info->size > 0 || !store.remote() || !list_any().ok())) {
      search.found.emplace(name, entry_of(*info, name));
      return folders_of(name);
    }
    const Code code = info.status().code();
    // Unsupported means that a local store found a folder of that name.
    if (!info.ok() && code != Code::kNotFound && code != Code::kUnsupported) return info.status();
  }
  FOREBAY_RETURN_IF_ERROR(search_folder(search, base));
  FOREBAY_RETURN_IF_ERROR(check_links(search));
  if (!search.found.empty()) return base;
  const Result<ListPage> listed = list_any();
  if (!listed.ok() || (listed->objects.empty() && listed->prefixes.empty()))
    return nothing_matches(store, name, name, name + "x");
  return not_found(
      fmt::format("no file that ends in {} below '{}'; files of other names are found by a pattern such as '{}**'",
                  fmt::join(search.location.endings, ", "), store.display_name(base), base));
}

Result<DataFiles> find_pattern(StoreAndPath at, const DataLocation& location, std::stop_token stop) {
  FOREBAY_ASSIGN(const std::string pattern, escape_existing(*at.store, at.path, stop));
  FOREBAY_ASSIGN(const std::vector<std::string> alternatives, expand_braces(pattern));
  Search search{*at.store, location, stop, at.warnings};
  // Braces count as special, because the names in them may be partition folders.
  std::string base = pattern_base(pattern);
  bool by_name = true;
  for (const std::string& alternative : alternatives) {
    const std::string name = without_escapes(alternative);
    if (first_wildcard(alternative) != std::string::npos) {
      by_name = false;
      FOREBAY_RETURN_IF_ERROR(search_pattern(search, alternative));
    } else if (alternatives.size() > 1) {
      search.found.emplace(name, DataFile{name, {}, 0});  // size is asked for when it is opened
    } else {
      FOREBAY_ASSIGN(base, look_up(search, name));
      by_name = search.found.size() == 1 && search.found.contains(name);
    }
  }
  FOREBAY_RETURN_IF_ERROR(check_links(search));
  if (search.found.empty())
    return nothing_matches(*at.store, at.path, at.path, Glob(alternatives.front()).base() + "x");
  DataFiles result{at.store, base, {}, at.warnings};
  for (auto& [key, entry] : search.found) result.files.push_back(std::move(entry));
  // Files named one by one are what the user wants, so they are not refused.
  if (!by_name) FOREBAY_RETURN_IF_ERROR(search.lakes.check_no_tables(result, stop));
  return result;
}

/// The leading folders that both have in common.
std::string common_folders(std::string_view a, std::string_view b) {
  const size_t same = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  return folders_of(a.substr(0, same));
}

Result<DataFiles> find_list(StoreAndPath at, const std::vector<std::string>& names) {
  FoundFiles found;
  for (const std::string& name : names) {
    FOREBAY_ASSIGN(const std::string key, parse_listed(name, names.front(), at.name));
    found.emplace(key, DataFile{key, {}, 0});
  }
  DataFiles result{at.store, folders_of(found.begin()->first), {}, at.warnings};
  // Sorted: these two differ most.
  result.base = common_folders(result.base, folders_of(found.rbegin()->first));
  for (auto& [key, entry] : found) result.files.push_back(std::move(entry));
  return result;
}

/// Plain HTTP cannot list, and '?' begins the query of a URL.
Result<DataFiles> find_urls(StoreAndPath at) {
  const std::string& pattern = at.path;
  if (pattern.find('*') != std::string::npos || pattern.ends_with('/')) {
    return unsupported("plain HTTP cannot be listed: spell the files out with braces ({000..099}) or give a list");
  }
  FOREBAY_ASSIGN(const std::vector<std::string> names, expand_braces(pattern));
  return find_list(std::move(at), names);
}

}  // namespace

// Spark writes partition folders of a column "_x" as "_x=1".
bool is_auxiliary_name(std::string_view name) {
  return name.starts_with('.') || (name.starts_with('_') && name.find('=') == std::string_view::npos) ||
         name.ends_with(".crc");
}

Result<DataFiles> find_data_files(StoreAndPath at, const DataLocation& location, std::stop_token stop) {
  if (location.is_list) return find_list(std::move(at), location.names);
  if (at.name == "http") return find_urls(std::move(at));
  return find_pattern(std::move(at), location, std::move(stop));
}

}  // namespace forebay
