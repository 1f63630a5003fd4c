#include "serve/client/shareable.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/unbounded_rules.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"
#include "serve/client/absolute_paths.h"

namespace forebay {

namespace {

Status check_branch(const Description& branch) {
  if (branch.steps().empty()) return {};
  if (is_unbounded(branch.steps().front()))
    return invalid_argument("share=: streams are not shared yet; use share=None for this pipeline");
  if (find_step(branch, OpEffect::kReplay) != nullptr)
    return invalid_argument("share=: what .rehearse() keeps is not shared yet; use share=None for this pipeline");
  return {};
}

}  // namespace

Result<std::string> portable(const Pipeline& pipeline, const PortableCode& code) {
  for (const Branch& branch : branches_of(pipeline.description()))
    FOREBAY_RETURN_IF_ERROR(check_branch(branch.description));
  if (!code.source.empty()) return code.pipeline;
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  FOREBAY_ASSIGN(const Description absolute, with_absolute_paths(pipeline.description(), folder));
  Result<std::string> json = absolute.to_json();
  if (json.ok()) return json;
  return invalid_argument(
      fmt::format("share=: the batches are made by another process, which has neither your functions nor "
                  "your arrays: {}. Use share=None for this pipeline",
                  json.status().message()));
}

Status check_shared(const LoaderOptions& options, const ShareOptions& share) {
  if (share.together < 0 || share.together > 4096)
    return invalid_argument(fmt::format("together={}; it is True, False or how many there will be", share.together));
  for (const auto& [given, name] :
       {std::pair(options.stream.steps_per_epoch.has_value(), "steps_per_epoch="),
        std::pair(!options.stream.journal.empty(), "journal="), std::pair(!options.rehearsal.empty(), "rehearsal=")}) {
    if (given)
      return invalid_argument(fmt::format(
          "{} is for streams and for .rehearse(), which are not shared yet; leave it out, or share=", name));
  }
  if (!options.job.peers.addresses.empty() || options.job.peers.gather)
    return invalid_argument(
        "share= and peers= do not go together yet: a server serves one host; leave one of them out");
  return {};
}

}  // namespace forebay
