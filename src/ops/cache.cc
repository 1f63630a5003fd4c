#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void infer_cache(const Args& args, Schema&, Problems& problems) {
  const auto is_none = [&](const char* tier) { return args.json(tier) != "auto" && args.bytes(tier) == 0; };
  if (is_none("ram") && is_none("disk"))
    problems.add("ram and disk are both 0, so nothing is kept", "give one of them, or leave .cache() out");
  const std::string peers = args.text("peers");
  if (peers != "auto" && peers != "none")
    problems.add(fmt::format("unknown peers \"{}\"", peers),
                 "give \"auto\" to ask other hosts where the loader has peers=, or \"none\"");
  const std::string compression = args.has("compression") ? args.text("compression") : "";
  if (!compression.empty() && compression != "zstd" && compression != "lz4")
    problems.add(fmt::format("unknown compression \"{}\"", compression), "give \"zstd\" or \"lz4\", or leave it out");
}

}  // namespace

OpDef cache_op() {
  return make_op(
      {.name = "cache",
       .help = "Keeps what the steps before it made, in memory and on disk.",
       .args = {{"ram", ArgType::kBytes, false, "auto",
                 "bytes of memory; \"auto\": a quarter of the machine's for all ranks on it, or half of memory=; 0 for "
                 "none"},
                {"disk", ArgType::kBytes, false, "auto",
                 "bytes of the disk; \"auto\": half of what is free or the folder's already; 0 for none",
                 ArgForm::kPlain, ArgUse::kDiskBytes},
                {"dir", ArgType::kText, false, nullptr,
                 "the folder on disk; else FOREBAY_CACHE_DIR, else ~/.cache/forebay"},
                {"peers", ArgType::kText, false, "auto",
                 "\"auto\": other hosts of the job are asked before storage, if the loader has peers=; or \"none\""},
                {"compression", ArgType::kText, false, nullptr, "\"zstd\" or \"lz4\", on disk", ArgForm::kNamed}},
       .random = false,
       .infer = infer_cache,
       .role = OpRole::kKeep});
}

}  // namespace forebay
