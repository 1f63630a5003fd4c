#include "study/changed.h"

#include <utility>

namespace forebay {

namespace {

class Rewriting {
 public:
  explicit Rewriting(const Become& become) : become_(become) {}

  Description run(const Description& description) {
    std::vector<OpSpec> steps;
    for (const OpSpec& original : description.steps()) {
      OpSpec step = original;
      for (PipelinePart& part : step.parts) part.pipeline = run(part.pipeline);
      std::vector<OpSpec> become = become_(number_++, step);
      // The new place of a step that is left out is that of the step before it.
      places_.push_back(become.empty() ? place_ - 1 : place_);
      place_ += become.size();
      for (OpSpec& one : become) steps.push_back(std::move(one));
    }
    return Description::of(std::move(steps));
  }
  std::vector<size_t> places() && { return std::move(places_); }

 private:
  const Become& become_;
  std::vector<size_t> places_;
  size_t number_ = 0, place_ = 0;  // of the next step, before and after
};

}  // namespace

Changed rewritten(const Description& description, const Become& become) {
  Rewriting rewriting(become);
  Description changed = rewriting.run(description);
  return {std::move(changed), {std::move(rewriting).places()}};
}

ChangedSteps composed(const ChangedSteps& first, const ChangedSteps& second) {
  ChangedSteps both{{}, first.processes || second.processes};
  for (const size_t place : first.places) both.places.push_back(place == kGone ? kGone : second.places[place]);
  return both;
}

Changed composed(const Changed& first, const Changed& second) {
  return {second.description, composed(first.steps, second.steps)};
}

}  // namespace forebay
