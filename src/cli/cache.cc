#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/byte_size.h"
#include "cache/cache_folder.h"
#include "cache/cache_maintenance.h"
#include "cli/command_line.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace forebay {
namespace {

struct CacheVerbOptions {
  std::string what, dir;
  std::vector<std::string> places;
  bool all = false, json = false;
  std::optional<int64_t> older_than_days;
};

constexpr int64_t kNsPerSecond = 1'000'000'000;

std::string time_text(int64_t ns) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(ns / kNsPerSecond)));
}

std::string use_text(const CacheInfo& place) {
  if (!place.in_use) return "last used " + time_text(place.last_used_ns);
  if (place.users.empty()) return "in use";
  return fmt::format("in use by process {}", fmt::join(place.users, ", "));
}

int print_places(const std::vector<CacheInfo>& places, const CacheVerbOptions& options, const Console& console) {
  if (options.json) {
    SortedJson list = SortedJson::array();
    for (const CacheInfo& place : places) {
      list.push_back({{"place", place.name},
                      {"steps", place.description},
                      {"entries", place.entries},
                      {"entry_bytes", place.entry_bytes},
                      {"disk_bytes", place.disk_bytes},
                      {"last_used", place.last_used_ns / kNsPerSecond},
                      {"in_use", place.in_use},
                      {"processes", place.users}});
    }
    print_json({{"dir", options.dir}, {"places", list}}, console);
    return kDone;
  }
  uint64_t bytes = 0;
  for (const CacheInfo& place : places) {
    bytes += place.disk_bytes;
    fmt::print(console.out, "{}  {} in {} entries, {}\n", place.name, format_byte_size(place.disk_bytes), place.entries,
               use_text(place));
    std::string_view left = place.description;
    // The description has one step a line.
    while (!left.empty()) {
      const size_t end = std::min(left.find('\n'), left.size());
      fmt::print(console.out, "    {}\n", left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }
  fmt::print(console.out, "{}: {} cache{}, {}\n", options.dir, places.size(), places.size() == 1 ? "" : "s",
             format_byte_size(bytes));
  return kDone;
}

/// Finds places by the first digits of their names.
Result<std::vector<CacheInfo>> find_places(const std::vector<CacheInfo>& places, const CacheVerbOptions& options) {
  std::vector<CacheInfo> found;
  for (const std::string& digits : options.places) {
    const auto starts = [&](const CacheInfo& place) { return place.name.starts_with(digits); };
    const auto count = std::ranges::count_if(places, starts);
    // An ambiguous prefix is refused, since a removal cannot be undone.
    if (count != 1) {
      return not_found(fmt::format("{} cache in {} begins with '{}'; 'forebay cache ls' lists them",
                                   count == 0 ? "no" : "more than one", options.dir, digits));
    }
    found.push_back(*std::ranges::find_if(places, starts));
  }
  return found;
}

int verify(const std::vector<CacheInfo>& places, const CacheVerbOptions& options, const Console& console) {
  const Interrupt interrupt;
  CacheReport report;
  uint64_t bytes = 0;
  for (const CacheInfo& place : places) bytes += place.entry_bytes;
  // Less than a gibibyte is read before a bar would be of use.
  Progress progress(console, "reading bytes", static_cast<int64_t>(bytes), options.json || bytes < (uint64_t{1} << 30));
  for (const CacheInfo& place : places) {
    const Status checked = verify_cache(options.dir, place.name, interrupt.token(), report,
                                        [&](uint64_t done) { progress.update(static_cast<int64_t>(done)); });
    // Another process has removed the place meanwhile, which is not damage.
    if (!checked.ok() && checked.code() != Code::kNotFound) return report_failure(checked, options.json, console);
  }
  if (options.json) {
    SortedJson list = SortedJson::array();
    for (const CacheDamage& damage : report.damaged)
      list.push_back({{"place", damage.cache}, {"where", damage.where}, {"what", damage.what}});
    print_json({{"dir", options.dir},
                {"entries", report.entries},
                {"bytes", report.bytes},
                {"damaged_count", report.damaged_count},
                {"damaged", list}},
               console);
  } else {
    for (const CacheDamage& damage : report.damaged)
      fmt::print(console.out, "{}: {}: {}\n", damage.cache, damage.where, damage.what);
    fmt::print(console.out, "{} entries read, {}; {} damaged{}\n", report.entries, format_byte_size(report.bytes),
               report.damaged_count, report.damaged_count == 0 ? "" : " (they are made anew when they are needed)");
  }
  return report.damaged_count == 0 ? kDone : kFailed;
}

int clear(const std::vector<CacheInfo>& places, const CacheVerbOptions& options, const Console& console) {
  SortedJson removed = SortedJson::array(), kept = SortedJson::array();
  uint64_t bytes = 0;
  for (const CacheInfo& place : places) {
    const Status cleared = clear_cache(options.dir, place.name);
    if (cleared.ok()) {
      removed.push_back(place.name);
      bytes += place.disk_bytes;
    } else if (cleared.code() != Code::kNotFound) {
      kept.push_back({{"place", place.name}, {"why", cleared.message()}});
      fmt::print(console.err, "forebay: {}\n", cleared.message());
    }
  }
  if (options.json)
    print_json({{"dir", options.dir}, {"removed", removed}, {"freed_bytes", bytes}, {"kept", kept}}, console);
  else
    fmt::print(console.out, "{} cache{} removed, {} freed\n", removed.size(), removed.size() == 1 ? "" : "s",
               format_byte_size(bytes));
  return kept.empty() ? kDone : kFailed;
}

std::vector<CacheInfo> unused_for(const std::vector<CacheInfo>& places, int64_t days) {
  const int64_t now = std::time(nullptr);
  std::vector<CacheInfo> found;
  for (const CacheInfo& place : places) {
    if (!place.in_use && place.last_used_ns / kNsPerSecond + days * 24 * 3600 <= now) found.push_back(place);
  }
  return found;
}

int run(CacheVerbOptions& options, const Console& console) {
  if (options.dir.empty()) {
    Result<std::string> dir = default_cache_folder();
    if (!dir.ok()) return report_failure(dir.status(), options.json, console);
    options.dir = std::move(*dir);
  }
  const Result<std::vector<CacheInfo>> places = list_caches(options.dir);
  if (!places.ok()) return report_failure(places.status(), options.json, console);
  const Result<std::vector<CacheInfo>> named = find_places(*places, options);
  if (!named.ok()) return report_failure(named.status(), options.json, console);
  const std::vector<CacheInfo>& selected = options.places.empty() ? *places : *named;
  if (options.what == "ls") return print_places(selected, options, console);
  if (options.what == "verify") return verify(selected, options, console);
  if (options.older_than_days) return clear(unused_for(*places, *options.older_than_days), options, console);
  return clear(selected, options, console);
}

}  // namespace

int cache_verb(const Arguments& arguments, const Console& console) {
  CommandLine line("cache",
                   "Lists the cache entries on disk of pipelines with .cache(), verifies them, or removes them.");
  CacheVerbOptions options;
  CLI::App& app = line.app();
  app.add_option("what", options.what, "ls, verify or clear")
      ->required()
      ->check(CLI::IsMember({"ls", "verify", "clear"}));
  app.add_option("place", options.places, "the first digits of a cache's name; default: all caches (not for clear)");
  app.add_option("--dir", options.dir, "folder of caches; default: FOREBAY_CACHE_DIR, else ~/.cache/forebay");
  app.add_flag("--all", options.all, "clear: all caches that are not in use");
  line.add_number("--older-than", options.older_than_days, 0, 100'000,
                  "clear: caches that were not used for this number of days");
  if (const auto code = line.parse(arguments, console)) return *code;
  options.json = line.json();
  const int selections = (options.places.empty() ? 0 : 1) + (options.all ? 1 : 0) + (options.older_than_days ? 1 : 0);
  if (options.what == "clear" && selections != 1)
    return line.misuse("clear takes the names of caches, or --all, or --older-than DAYS", console);
  if (options.what != "clear" && (options.all || options.older_than_days))
    return line.misuse(fmt::format("--all and --older-than are for clear, not for {}", options.what), console);
  return run(options, console);
}

}  // namespace forebay
