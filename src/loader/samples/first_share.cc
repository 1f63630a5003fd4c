#include "loader/samples/first_share.h"

#include <algorithm>
#include <numeric>

#include "loader/samples/data_plan.h"
#include "pipeline/op_spec.h"

namespace forebay {

double first_share(const Description& description, const std::vector<std::string>& path) {
  double share = 1;
  const Description* at = &description;
  for (const std::string& name : path) {
    const OpSpec& source = at->steps().front();
    const auto part = std::ranges::find(source.parts, name, &PipelinePart::name);
    const MixOptions shares = shares_of(source, {});
    if (!shares.stages.empty() && shares.stages.front().weights.size() == source.parts.size()) {
      const std::vector<double>& weights = shares.stages.front().weights;
      share *= weights[static_cast<size_t>(part - source.parts.begin())] /
               std::accumulate(weights.begin(), weights.end(), 0.0);
    }
    at = &part->pipeline;
  }
  return share;
}

}  // namespace forebay
