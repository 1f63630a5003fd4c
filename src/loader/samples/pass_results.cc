#include "loader/samples/pass_results.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace forebay {

Result<std::shared_ptr<void>> PassResults::take_turn(const std::stop_token& stop) {
  Lock lock(mutex_);
  if (!turn_ended_.wait(lock, stop, [&]() FOREBAY_REQUIRES(mutex_) { return !taken_; }))
    return cancelled("the loader was closed");
  taken_ = true;
  return std::shared_ptr<void>(nullptr, [this](void*) { end_turn(); });
}

void PassResults::end_turn() {
  const Lock lock(mutex_);
  taken_ = false;
  turn_ended_.notify_all();
}

// The exceptions themselves belong to the loader that has made the pass.
void PassResults::Choice::note(const RowError& error) {
  Status status;
  if (bad.size() < kMaxTexts) {
    status = Status(error.status.code(), error.status.message());
    status = std::move(status).with_key(error.status.key()).with_operator(error.status.op()).with_sample(error.id);
  } else if (bad.size() == kMaxTexts) {
    status = Status(error.status.code(), fmt::format("one of more than {} bad samples", kMaxTexts));
  } else {
    status = bad.back().status;
  }
  bad.push_back({error.row, error.id, std::move(status), error.raise, error.branch});
}

Result<ChosenSamples> PassResults::choose(size_t number, const Hash128& source, const PassCallbacks& callbacks,
                                          const Choose& choose) {
  const std::pair key(number, source.to_string());
  std::optional<Choice> known;
  {
    const Lock lock(mutex_);
    if (const auto found = choices_.find(key); found != choices_.end()) known = found->second;
  }
  if (known) {
    for (const RowError& error : known->bad) FOREBAY_RETURN_IF_ERROR(callbacks.on_bad_sample(error));
    return std::move(known->samples);
  }
  Choice made;
  PassCallbacks noting = callbacks;
  noting.on_bad_sample = [&](const RowError& error) {
    made.note(error);
    return callbacks.on_bad_sample(error);
  };
  FOREBAY_ASSIGN(made.samples, choose(noting));
  const Lock lock(mutex_);
  return choices_.insert_or_assign(key, std::move(made)).first->second.samples;
}

}  // namespace forebay
