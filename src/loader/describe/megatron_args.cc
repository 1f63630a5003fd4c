#include "loader/describe/megatron_args.h"

#include <string>

#include <fmt/format.h>

#include "format/megatron/open_megatron.h"
#include "loader/describe/source_args.h"
#include "ops/definition/args.h"

namespace forebay {

namespace {

void check_prefix(const std::string& prefix, Problems& problems) {
  if (prefix.empty()) return problems.add("prefix is empty", "give the path of the two files without .bin and .idx");
  for (const std::string_view ending : {".bin", ".idx"}) {
    if (!prefix.ends_with(ending)) continue;
    problems.add(fmt::format("prefix is '{}', which is one of two files", prefix),
                 fmt::format("give the prefix of both: '{}'", prefix.substr(0, prefix.size() - ending.size())));
  }
  if (prefix.ends_with(".npy"))
    problems.add(fmt::format("prefix is '{}', an array and no indexed data set", prefix),
                 fmt::format("read it with fb.arrays(tokens=\"{}\")", prefix));
}

}  // namespace

void check_megatron(const OpSpec& source, std::vector<Problem>& found) {
  Problems problems(found);
  const Json prefix = source.args.value("prefix", Json());
  if (prefix.is_string()) check_prefix(prefix.get<std::string>(), problems);  // check_args() reports the others
  const Json by = source.args.value("by", Json("document"));
  if (by != "document" && by != "sequence")
    problems.add(fmt::format("by is {}", json_text(by)), "give \"document\" or \"sequence\"");
}

Result<std::shared_ptr<const Source>> open_megatron_step(const OpSpec& source, const OpenSourceOptions& options) {
  const bool sequences = text_arg(source, "by", "document") == "sequence";
  FOREBAY_ASSIGN(const StoreAndPath place, open_store_for(text_arg(source, "prefix"), options));
  return open_megatron(place, sequences ? MegatronUnit::kSequence : MegatronUnit::kDocument, options.stop);
}

}  // namespace forebay
