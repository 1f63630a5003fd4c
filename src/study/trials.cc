#include "study/trials.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/source.h"
#include "cache/budget_limits.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"
#include "study/part_pipelines.h"

namespace forebay {

Result<OpenLoader> Trials::open(const Changed& changed, const LoaderOptions& with) const {
  const Pipeline pipeline(std::make_shared<const Description>(with_mixed_parts(changed.description)));
  if (open_) return open_(pipeline, with, changed.steps);
  FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, with));
  return OpenLoader(std::move(loader));
}

uint64_t Trials::memory_room() const {
  return std::min(max_memory_budget(), max_cache_bytes(options_.resources.memory));
}

int64_t samples_behind(const Loader& whole, const Description& of, int64_t items) {
  const OpSpec source = whole.opened().description().steps().front();
  if (source.opened == nullptr || find_step(of, OpEffect::kTaking) != nullptr) return items;
  const auto all = static_cast<double>(std::max<int64_t>(source.opened->size(), 1));
  const double a_sample = static_cast<double>(whole.size()) / all;  // items, not 0 if there are any
  if (a_sample <= 0) return items;
  return static_cast<int64_t>(std::ceil(static_cast<double>(items) / a_sample));
}

}  // namespace forebay
