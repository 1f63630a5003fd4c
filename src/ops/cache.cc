#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void infer_cache(const Args& args, Schema&, Problems& problems) {
  if (args.bytes("ram") == 0 && args.bytes("disk") == 0)
    problems.add("ram and disk are both 0, so nothing is kept", "give one of them, or leave .cache() out");
  const std::string compression = args.has("compression") ? args.text("compression") : "";
  if (!compression.empty() && compression != "zstd" && compression != "lz4")
    problems.add(fmt::format("unknown compression \"{}\"", compression), "give \"zstd\" or \"lz4\", or leave it out");
}

}  // namespace

OpDef cache_op() {
  return make_op(
      {.name = "cache",
       .help = "Keeps what the steps before it made, in memory and on disk.",
       .args = {{"ram", ArgType::kBytes, false, "2GiB", "bytes of memory; 0 for none"},
                {"disk", ArgType::kBytes, false, "50GiB", "bytes of the disk; 0 for none", ArgForm::kPlain,
                 ArgUse::kDiskBytes},
                {"dir", ArgType::kText, false, nullptr,
                 "the folder on disk; else FOREBAY_CACHE_DIR, else ~/.cache/forebay"},
                {"compression", ArgType::kText, false, nullptr, "\"zstd\" or \"lz4\", on disk", ArgForm::kNamed}},
       .random = false,
       .infer = infer_cache,
       .role = OpRole::kKeep});
}

}  // namespace forebay
