#include "loader/samples/drawn_samples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"
#include "plan/order.h"

namespace forebay {

namespace {

/// Draws by weight.
class WeightedDrawing final : public Drawing {
 public:
  WeightedDrawing(std::string place, WeightedDraws draws) : place_(std::move(place)), draws_(std::move(draws)) {}
  Result<Ordering> order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                         uint64_t seed) const override {
    if (selection.size() == 0) return choose_order(shuffle, chunks, selection, seed);
    Result<Ordering> ordering = choose_drawn_order(shuffle, chunks, selection, seed, draws_);
    if (ordering.ok()) return ordering;
    return Status(ordering.status().code(), fmt::format("{}: {}", place_, ordering.status().message()));
  }

 private:
  const std::string place_;
  const WeightedDraws draws_;
};

/// Classes in equal shares.
class BalancedDrawing final : public Drawing {
 public:
  explicit BalancedDrawing(BalancedDraws draws) : draws_(std::move(draws)) {}
  Result<Ordering> order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                         uint64_t seed) const override {
    if (draws_.count == 0) return Ordering{.order = sequential_order(0), .assignment = assignment_by_count()};
    return choose_balanced_order(shuffle, chunks, selection, seed, draws_);
  }

 private:
  const BalancedDraws draws_;
};

template <typename T>
std::string version_of(const std::vector<T>& values) {
  return hash128(values.data(), values.size() * sizeof(T)).to_string();
}

/// Makes the drawing of a step.
class DrawingMaker {
 public:
  DrawingMaker(const CompileInput& whole, size_t step, const SizingInput& sizes, const PassCallbacks& callbacks)
      : whole_(whole), step_(step), op_(whole.description->steps()[step]),
        args_(op_.args, catalog().find(op_.name)->args), sizes_(sizes), callbacks_(callbacks) {}

  Status weighted(ChosenSamples* chosen) const {
    const int64_t samples = whole_.selection->size();
    WeightedDraws draws{.count = args_.has("n") ? args_.integer("n") : samples,
                        .once = !args_.json("replacement").get<bool>()};
    const Json& weights = args_.json("weights");
    if (weights.is_array()) {
      FOREBAY_ASSIGN(draws.weights, given(weights));
    } else if (weights.is_string()) {
      FOREBAY_ASSIGN(draws.weights, read_numbers(whole_, step_, weights.get<std::string>(), sizes_, callbacks_));
      chosen->version += version_of(draws.weights);
    }
    FOREBAY_RETURN_IF_ERROR(check_weights(draws.weights));
    chosen->drawing = std::make_shared<const WeightedDrawing>(place(), std::move(draws));
    return {};
  }

  Status balanced(ChosenSamples* chosen) const {
    FOREBAY_ASSIGN(const std::shared_ptr<const SampleClasses> classes,
                   read_classes(whole_, step_, args_.text("by"), sizes_, callbacks_));
    BalancedDraws draws;
    for (int64_t i = 0; i < whole_.selection->size(); ++i)
      draws.class_of.push_back(static_cast<int32_t>(classes->number_of(i)) - 1);
    const int64_t samples = std::ranges::count_if(draws.class_of, [](int32_t number) { return number >= 0; });
    draws.count = samples > 0 && args_.has("samples") ? args_.integer("samples") : samples;
    chosen->version += version_of(draws.class_of);
    chosen->drawing = std::make_shared<const BalancedDrawing>(std::move(draws));
    return {};
  }

 private:
  std::string place() const { return place_of(whole_.description->steps(), step_); }

  // The order checks weights, too, but knows no keys.
  Status check_weights(const std::vector<double>& weights) const {
    const auto wrong = std::ranges::find_if(weights, [](double one) { return !std::isfinite(one) || one < 0; });
    if (wrong == weights.end()) return {};
    const int64_t id = whole_.selection->id_at(wrong - weights.begin());
    return invalid_argument(fmt::format("{}: the weight of sample {} ({}) is {}; weights are finite and at least 0",
                                        place(), id, whole_.source->key(id), *wrong));
  }

  // The weights of the chosen samples, of those of all samples of the data set.
  Result<std::vector<double>> given(const Json& weights) const {
    const int64_t all = whole_.source->size();
    if (static_cast<int64_t>(weights.size()) != all)
      return invalid_argument(
          fmt::format("{}: there are {} weights, and the data set has {} samples; give one for each, "
                      "by id",
                      place(), weights.size(), all));
    std::vector<double> chosen;
    chosen.reserve(static_cast<size_t>(whole_.selection->size()));
    for (int64_t i = 0; i < whole_.selection->size(); ++i)
      chosen.push_back(weights[static_cast<size_t>(whole_.selection->id_at(i))].get<double>());
    return chosen;
  }

  const CompileInput& whole_;
  const size_t step_;
  const OpSpec& op_;
  const Args args_;
  const SizingInput& sizes_;
  const PassCallbacks& callbacks_;
};

}  // namespace

Status draw_samples(const CompileInput& whole, const SizingInput& sizes, const PassCallbacks& callbacks,
                    ChosenSamples* chosen) {
  const std::vector<OpSpec>& steps = whole.description->steps();
  for (size_t step = 1; step < steps.size(); ++step) {
    if (!catalog().has_effect(steps[step], OpEffect::kDrawing)) continue;
    const DrawingMaker maker(whole, step, sizes, callbacks);
    return steps[step].name == "balance" ? maker.balanced(chosen) : maker.weighted(chosen);
  }
  return {};
}

}  // namespace forebay
