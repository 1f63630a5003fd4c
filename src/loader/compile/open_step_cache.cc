#include "loader/compile/open_step_cache.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cache/budget_limits.h"
#include "loader/compile/cache_place.h"
#include "loader/describe/check.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "pipeline/content_keys.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// Samples without a version could never be found again, so the cache at `step` stays empty. The
// warning says why.
void warn_no_version(const std::string& place, const std::string& sample) {
  log_warning(
      fmt::format("{} keeps nothing: '{}' has no version by which it could be told from other data; the run goes "
                  "on without it",
                  place, sample));
}

void warn_memory_only(const std::string& place, bool in_memory) {
  log_warning(
      fmt::format("{} keeps {}: a later run could not tell whether the data set has changed; give fb.Dataset(…, "
                  "version=\"1\") and change that with the data{}",
                  place, in_memory ? "nothing on disk" : "nothing",
                  in_memory ? ", or use .cache(disk=0)" : ", or give ram= a size"));
}

void warn_ram_above_limit(const std::string& place, uint64_t ram, uint64_t most, uint64_t memory) {
  log_warning(
      fmt::format("{}: ram={} is more than half of memory={}, which bounds all that a loader holds; {} are used. "
                  "Raise memory= to keep more",
                  place, format_byte_size(ram), format_byte_size(memory), format_byte_size(most)));
}

}  // namespace

Result<std::shared_ptr<TieredCache>> open_step_cache(const StepCacheRequest& request) {
  const auto& [description, step, content_id, min_entry_bytes, source, selection, memory_limit, local_ranks] = request;
  const OpSpec& op = description.steps()[step];
  const std::string place = place_of(description.steps(), step);
  const Args args(op.args, catalog().find(op.name)->args);
  const auto text = [&](const char* name) { return args.has(name) ? args.text(name) : std::string(); };
  const Compression compression = compression_from_name(text("compression")).value_or(Compression::kNone);
  const uint64_t usual = std::min(default_memory_budget(local_ranks), max_cache_bytes(memory_limit));
  CacheOptions options{.ram_bytes = args.json("ram") == "auto" ? usual : args.bytes("ram"),
                       .disk_bytes = args.json("disk") == "auto" ? CacheOptions::kHalfOfDisk : args.bytes("disk"),
                       .dir = text("dir"),
                       .cache_id = content_id,
                       .description = prefix_description(description, step),
                       .compression = compression,
                       .entry_bytes = compression == Compression::kNone ? min_entry_bytes : 0};
  if (const uint64_t most = max_cache_bytes(memory_limit); options.ram_bytes > most) {
    warn_ram_above_limit(place, options.ram_bytes, most, *memory_limit);
    if (options.ram_bytes >= options.entry_bytes) options.entry_bytes = 0;  // ram= is large enough
    options.ram_bytes = most;
  }
  if (selection.size() == 0) return open_cache(options);
  const int64_t first = selection.id_at(0);
  // One sample stands for all: a source knows the identities of all of its samples or of none.
  const std::optional<Identity> identity = source.identity(first);
  if (!identity && source.learned_versions() == nullptr) warn_no_version(place, source.key(first));
  if (identity && !identity->lasting) {
    if (options.disk_bytes > 0) warn_memory_only(place, options.ram_bytes > 0);
    options.disk_bytes = 0;
    // A separate cache per source: in a shared cache, entries of sources that no longer exist would
    // take up the budget.
    options.cache_id = entry_key(content_id, identity->hash);
  }
  return open_cache(options);
}

}  // namespace forebay
