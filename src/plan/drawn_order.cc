#include "plan/drawn_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "plan/line_segments.h"
#include "plan/systematic_draws.h"

namespace forebay {
namespace {

// The draws of an epoch, and their order, whose ids are numbers of draws.
struct EpochDraws {
  int64_t epoch = 0;
  LineSegments::Draws draws;
  std::shared_ptr<const Order> order;
};

class DrawnOrder final : public Order {
 public:
  DrawnOrder(const DrawnOptions& options, SystematicDraws draws)
      : line_(options.line), make_order_(options.order), draws_(std::move(draws)), segments_(*line_) {}

  int64_t size() const override { return draws_.size(); }
  int64_t ids() const override { return line_->ids(); }
  bool permutes() const override { return false; }

  int64_t id_at(int64_t epoch, int64_t position) const override {
    int64_t id = 0;
    ids_at(epoch, position, {&id, 1});
    return id;
  }

  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override {
    const auto drawn = drawn_in(epoch);
    drawn->order->ids_at(epoch, begin, ids);
    for (int64_t& id : ids) id = line_->id_at(0, draws_.place_of(epoch, drawn->draws.draw_of(id)));
  }

  void uses_at(int64_t epoch, int64_t begin, std::span<int64_t> ids, std::span<int32_t> occurrences) const override {
    const auto drawn = drawn_in(epoch);
    drawn->order->ids_at(epoch, begin, ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t draw = drawn->draws.draw_of(ids[i]), place = draws_.place_of(epoch, draw);
      occurrences[i] = static_cast<int32_t>(draw - draws_.draws_before(epoch, place));
      ids[i] = line_->id_at(0, place);
    }
  }

  int64_t position_of(int64_t epoch, int64_t id) const override { return first_position(epoch, id, 0); }

  Use next_use(int64_t id, int64_t epoch, int64_t position) const override {
    const int64_t here = first_position(epoch, id, position), place = line_->position_of(0, id);
    if (here < size()) return {epoch, here};
    if (place == line_->size()) return kNoUse;
    const int64_t next = draws_.next_epoch(epoch + 1, place);
    return next == kNoUse.epoch ? kNoUse : Use{next, first_position(next, id, 0)};
  }

  Range read_together(int64_t epoch, int64_t position) const override {
    return drawn_in(epoch)->order->read_together(epoch, position);
  }

  std::vector<int64_t> chunks_together(int64_t epoch, int64_t position) const override {
    std::vector<int64_t> chunks = drawn_in(epoch)->order->chunks_together(epoch, position);
    for (int64_t& chunk : chunks) chunk = segments_.chunks()[static_cast<size_t>(chunk)];
    return chunks;
  }

  Result<std::shared_ptr<const EpochDraws>> draw(int64_t epoch) const {
    LineSegments::Draws draws(segments_, draws_, epoch);
    std::optional<std::vector<int64_t>> rows;
    if (segments_.in_chunks()) rows = draws.chunk_rows();
    FOREBAY_ASSIGN(std::shared_ptr<const Order> order, make_order_(rows, size()));
    return std::shared_ptr<const EpochDraws>(new EpochDraws{epoch, std::move(draws), std::move(order)});
  }

 private:
  // Keeps the last epochs asked for. They are functions of the epoch, so the order stays a pure
  // function. The lock is held to copy a pointer, not to compute.
  std::shared_ptr<const EpochDraws> drawn_in(int64_t epoch) const {
    {
      const Lock lock(mutex_);
      for (const auto& drawn : recent_) {
        if (drawn && drawn->epoch == epoch) return drawn;
      }
    }
    // drawn_order() has tried epoch 0, and no epoch has other options or more rows.
    std::shared_ptr<const EpochDraws> drawn = draw(epoch).value();
    const Lock lock(mutex_);
    std::rotate(recent_.begin(), recent_.end() - 1, recent_.end());
    recent_.front() = drawn;
    return drawn;
  }

  // The first position of a sample from `from` on, or size().
  int64_t first_position(int64_t epoch, int64_t id, int64_t from) const {
    const int64_t place = line_->position_of(0, id);
    if (place == line_->size()) return size();
    const auto drawn = drawn_in(epoch);
    int64_t first = size();
    for (int64_t draw = draws_.draws_before(epoch, place); draw < draws_.draws_before(epoch, place + 1); ++draw) {
      const int64_t position = drawn->order->position_of(epoch, drawn->draws.number_of(draw, place));
      if (position >= from) first = std::min(first, position);
    }
    return first;
  }

  const std::shared_ptr<const Order> line_;
  const MakeOrder make_order_;
  const SystematicDraws draws_;
  const LineSegments segments_;
  mutable Mutex mutex_;
  mutable std::array<std::shared_ptr<const EpochDraws>, 4> recent_ FOREBAY_GUARDED_BY(mutex_);
};

Status check(const DrawnOptions& options) {
  if (options.draws < 1 || options.draws >= int64_t{1} << 62)
    return invalid_argument("an epoch has " + std::to_string(options.draws) +
                            " draws; at least 1 is possible, and fewer than 2^62");
  const std::vector<double>& weights = options.weights;
  if (weights.empty()) return {};
  if (static_cast<int64_t>(weights.size()) != options.line->ids())
    return invalid_argument("there are " + std::to_string(weights.size()) + " weights for " +
                            std::to_string(options.line->ids()) + " samples; give one for each");
  const auto wrong = std::ranges::find_if(weights, [](double one) { return !std::isfinite(one) || one < 0; });
  if (wrong != weights.end())
    return invalid_argument("the weight of sample " + std::to_string(wrong - weights.begin()) + " is " +
                            std::to_string(*wrong) + "; weights are finite and at least 0");
  if (std::ranges::all_of(weights, [](double one) { return one == 0; }))
    return invalid_argument("all weights are 0; at least one sample needs a weight above 0");
  return {};
}

std::unique_ptr<const WeightLine> weights_along(const Order& line, const std::vector<double>& by_id) {
  if (by_id.empty()) return equal_weights(line.size());
  std::vector<int64_t> ids(static_cast<size_t>(line.size()));
  line.ids_at(0, 0, ids);
  std::vector<double> weights;
  weights.reserve(ids.size());
  for (const int64_t id : ids) weights.push_back(by_id[static_cast<size_t>(id)]);
  return given_weights(weights);
}

Status check_once(const DrawnOptions& options, const WeightLine& line) {
  for (int64_t place = 0; options.once && place < line.places(); ++place) {
    const auto units = static_cast<unsigned __int128>(line.before(place + 1) - line.before(place));
    if (units * static_cast<uint64_t>(options.draws) <= line.total()) continue;
    const double share =
        static_cast<double>(options.draws) * static_cast<double>(units) / static_cast<double>(line.total());
    return invalid_argument("sample " + std::to_string(options.line->id_at(0, place)) + " would come " +
                            std::to_string(share) + " times in an epoch of " + std::to_string(options.draws) +
                            " draws, and without replacement once is the most");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Order>> drawn_order(const DrawnOptions& options) {
  FOREBAY_RETURN_IF_ERROR(check(options));
  std::unique_ptr<const WeightLine> line = weights_along(*options.line, options.weights);
  FOREBAY_RETURN_IF_ERROR(check_once(options, *line));
  auto order = std::make_unique<DrawnOrder>(options, SystematicDraws(std::move(line), options.draws, options.seed));
  FOREBAY_RETURN_IF_ERROR(order->draw(0).status());
  return std::unique_ptr<Order>(std::move(order));
}

}  // namespace forebay
