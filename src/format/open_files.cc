#include "format/open_files.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "format/files/braces.h"
#include "format/files/glob.h"
#include "format/files/left_out.h"
#include "format/files/open_store.h"
#include "format/files/path_pattern.h"
#include "format/files/stat_all.h"
#include "format/files/walk.h"
#include "format/object_source.h"

namespace forebay {

namespace {

using Found = std::map<std::string, ObjectInfo>;  // alternatives of a pattern may overlap

std::unique_ptr<Source> make_source(std::shared_ptr<Store> store, std::string base, KeyTable keys,
                                    ObjectSizes sizes = ObjectSizes::kKnown,
                                    ObjectVersions versions = ObjectVersions::kFromTable) {
  return std::make_unique<ObjectSource>(
      std::move(store), [base = std::move(base)](std::string_view key) { return base + std::string(key); },
      std::move(keys), std::vector<Column>(), sizes, versions);
}

/// Adds the matches of one pattern with wildcards to `found`, by full key. A base that does not
/// exist matches nothing.
Status search(Store& store, const std::string& pattern, std::stop_token stop, Found& found, DataWarnings* warnings) {
  const Glob glob(pattern);
  const std::string& base = glob.base();
  const auto below_base = [&](const std::string& key) { return std::string_view(key).substr(base.size()); };
  const Status walked = walk(store, base, std::move(stop), [&](const std::string&, ListPage& page) {
    for (ObjectInfo& object : page.objects) {
      if (glob.matches(below_base(object.key)))
        found.emplace(object.key, object);
      else if (object.dead_link && warnings != nullptr && glob.may_match_below(below_base(object.key + '/')))
        warnings->add(kDeadLinks, below_base(object.key));
    }
    for (const std::string& link : page.circular) {
      if (warnings != nullptr && glob.may_match_below(below_base(link + '/')))
        warnings->add(kCircularLinks, below_base(link));
    }
    std::erase_if(page.prefixes, [&](const std::string& folder) { return !glob.may_match_below(below_base(folder)); });
  });
  return walked.code() == Code::kNotFound ? Status() : walked;
}

/// Gets the sizes of names spelled out in full, which must all exist.
Status look_up(Store& store, const std::string& pattern, const std::vector<std::string>& names, std::stop_token stop,
               Found& found) {
  // The first in the list and not the first to arrive, so that the message is the same on every
  // run.
  std::optional<int64_t> missing;
  const Status asked = stat_all(
      store, static_cast<int64_t>(names.size()), [&](int64_t i) { return names[static_cast<size_t>(i)]; },
      std::move(stop),
      [&](int64_t i, const ObjectInfo* info) {
        if (info != nullptr)
          found.emplace(names[static_cast<size_t>(i)], *info);
        else
          missing = std::min(missing.value_or(i), i);
      });
  if (asked.code() == Code::kUnsupported && names.size() == 1) {
    return invalid_argument(
        fmt::format("'{}' {}; for the files below a folder use '{}/**'", pattern, asked.message(), pattern));
  }
  if (!asked.ok() || !missing) return asked;
  const std::string& name = names[static_cast<size_t>(*missing)];
  return nothing_matches(store, name, pattern, name + "x");
}

}  // namespace

Result<std::unique_ptr<Source>> open_files(std::shared_ptr<Store> store, const std::string& given, std::stop_token stop,
                                           KeepVersions keep_versions, DataWarnings* warnings) {
  if (given.empty()) return invalid_argument("the pattern is empty; '*' stands for the files of the current folder");
  FOREBAY_ASSIGN(const std::string pattern, escape_existing(*store, given, stop));
  FOREBAY_ASSIGN(const std::vector<std::string> alternatives, expand_braces(pattern));
  Found found;
  std::vector<std::string> names;
  for (const std::string& alternative : alternatives) {
    if (first_wildcard(alternative) != std::string::npos) {
      FOREBAY_RETURN_IF_ERROR(search(*store, alternative, stop, found, warnings));
    } else {
      names.push_back(without_escapes(alternative));
    }
  }
  FOREBAY_RETURN_IF_ERROR(look_up(*store, given, names, stop, found));
  if (found.empty()) return nothing_matches(*store, given, given, Glob(given).base() + "x");

  // Braces may spell out folders too, so keys begin after the common part before the first special
  // character.
  const std::string base = pattern_base(pattern);
  KeyTableBuilder keys(keep_versions == KeepVersions::kYes);
  for (const auto& [key, info] : found) keys.add(std::string_view(key).substr(base.size()), info.size, info.version);
  return make_source(std::move(store), base, std::move(keys).sorted());
}

Result<std::unique_ptr<Source>> open_file_list(const StoreAndPath& location, std::vector<std::string> names,
                                               std::stop_token stop, KeepVersions keep_versions) {
  if (names.empty()) return invalid_argument("the list of files is empty");
  Store& store = *location.store;
  const std::string first = names[0];
  KeyTableBuilder keys(keep_versions == KeepVersions::kYes);
  for (std::string& name : names) {
    FOREBAY_ASSIGN(name, parse_listed(name, first, location.name));
    keys.add(name, 0);
  }
  // Asking for each name would cost as many requests as an epoch, so a missing object is reported
  // when it is read.
  if (store.remote())
    return make_source(location.store, "", std::move(keys).in_order(), ObjectSizes::kUnknown,
                       keep_versions == KeepVersions::kYes ? ObjectVersions::kLearned : ObjectVersions::kFromTable);
  int64_t found = 0;
  FOREBAY_RETURN_IF_ERROR(stat_all(
      store, static_cast<int64_t>(names.size()), [&](int64_t i) { return names[static_cast<size_t>(i)]; },
      std::move(stop),
      [&](int64_t i, const ObjectInfo* info) {
        if (info == nullptr) return;
        keys.set_object_bytes(static_cast<size_t>(i), info->size);
        keys.set_object_version(static_cast<size_t>(i), info->version);
        ++found;
      }));
  if (found == 0) {
    return not_found(fmt::format("none of the {} files exists, e.g. '{}'; the nearest folder that does is '{}'",
                                 names.size(), names[0], nearest_folder(store, names[0])));
  }
  return make_source(location.store, "", std::move(keys).in_order());
}

}  // namespace forebay
