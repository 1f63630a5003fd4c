#include "materialize/row_feed.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "loader/run/checkpoint.h"

namespace forebay {

namespace {
constexpr auto kPollInterval = std::chrono::milliseconds(100);
}

Status RowFeed::seek(int64_t id) {
  if (id == next_id_) return {};
  // Takes the loader's own state, which has the right fingerprints, and moves it within epoch 0.
  FOREBAY_ASSIGN(Checkpoint state, Checkpoint::from_json(loader_->state()));
  state.cursor = {0, id, id / batch_size_};
  FOREBAY_RETURN_IF_ERROR(loader_->load_state(state.to_json(), /*strict=*/true));
  batch_ = Batch();
  at_ = 0;
  next_id_ = id;
  return {};
}

Status RowFeed::fetch() {
  for (;;) {
    if (context_.stop.stop_requested()) return cancelled("stopped; run the same command again to continue");
    if (context_.poll) context_.poll();
    bool timed_out = false;
    FOREBAY_ASSIGN(std::optional<Batch> batch, loader_->next_for(kPollInterval, &timed_out));
    if (timed_out) continue;
    if (!batch)
      return invalid_argument(
          "the samples ended before all were written: on_error leaves out what is bad. Leave it at "
          "\"raise\"");
    batch_ = std::move(*batch);
    at_ = 0;
    return {};
  }
}

Result<RowFeed::Rows> RowFeed::next(int64_t most) {
  if (at_ == batch_.size()) FOREBAY_RETURN_IF_ERROR(fetch());
  const Rows rows{&batch_, at_, std::min(batch_.size(), at_ + most)};
  for (int64_t row = rows.begin; row < rows.end; ++row)
    if (batch_.ids[static_cast<size_t>(row)] != next_id_++)
      return invalid_argument(fmt::format(
          "sample {} came where {} was due: on_error leaves out or replaces what is bad, and all samples are "
          "materialised. Mend or remove it, and leave on_error at \"raise\"",
          batch_.ids[static_cast<size_t>(row)], next_id_ - 1));
  at_ = rows.end;
  return rows;
}

}  // namespace forebay
