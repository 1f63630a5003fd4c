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
       .help =
           R"(Keeps what the steps before it made, in memory and then on disk, so that later epochs and runs need not make it again.

Changes speed, never content. (A damaged picture that is kept is decoded as a whole, so that a crop no longer gets by with the part that is
undamaged.) An entry is known by its object's name and version and by all steps before it, so what has changed is made anew. Behind a
random step it is refused: the results would be frozen; behind `.map` a disk tier needs `version=`. For an `fb.Dataset` without
`version=` nothing is kept on disk, and a warning says so.

`loader.stats()["caches"]` has the budgets in bytes.

Where a budget is above what the disk or the machine has, what there is is used, less a reserve, with one warning. InvalidArgument
when the loader is opened if a budget is less than one entry. A disk that is full but for the reserve, read-only or gone ends that
tier with one warning, and the run goes on.)",
       .args = {{"ram", ArgType::kBytes, false, "auto",
                 "bytes of memory of this process, as a number or \"2GiB\"; 0 for none. \"auto\": a quarter of the "
                 "memory that the machine or the control group has, divided by the ranks on this machine; half of "
                 "`memory=` if the loader has that."},
                {"disk", ArgType::kBytes, false, "auto",
                 "bytes of the disk that the folder may take, whoever fills it; 0 for none. \"auto\": half of what is "
                 "free there or the folder's already.",
                 ArgForm::kPlain, ArgUse::kDiskBytes},
                {"dir", ArgType::kPath, false, nullptr,
                 "the folder, shared by all jobs of this user on this host; by default `$FOREBAY_CACHE_DIR`, else "
                 "`$XDG_CACHE_HOME/forebay`, else `~/.cache/forebay`. One that others may write to is refused."},
                {"peers", ArgType::kText, false, "auto",
                 "\"auto\": other hosts of the job are asked for an entry before storage is, if the loader has "
                 "`peers=`; \"none\": never"},
                {"compression", ArgType::kText, false, nullptr,
                 "how entries on disk are compressed: \"zstd\" (smaller) or \"lz4\" (faster); not at all if not given",
                 ArgForm::kNamed}},
       .random = false,
       .infer = infer_cache,
       .effect = OpEffect::kCaching,
       .freezes = true});
}

}  // namespace forebay
