#include "stream/ranks/assigned_reading.h"

#include <utility>

namespace forebay {

AssignedReading::AssignedReading(std::shared_ptr<const RecordLog> log, std::shared_ptr<Decisions> ranks,
                                 RecordShelf::Limits limits)
    : log_(std::move(log)), ranks_(std::move(ranks)),
      shelf_(std::make_shared<RecordShelf>(log_->partitions().size(), ranks_->rank(), ranks_->ranks(), limits)),
      shared_log_(std::make_shared<AssignedLog>(
          log_, ranks_->rank(), ranks_->ranks(), shelf_,
          // A plain pointer suffices: the readers end before Decisions is closed.
          [ranks = ranks_.get()](int rank, std::span<const NotesPlace> wanted, const std::stop_token& stop) {
            return ranks->ask_for_notes(rank, wanted, stop);
          })) {}

void AssignedReading::attach(std::shared_ptr<Stream> stream) {
  stream_ = std::move(stream);
  stream_->on_behind([shelf = shelf_](const LogRecord& record) { shelf->behind(record); });
  rows_ = std::make_shared<AssignedRows>(log_, stream_, shelf_, ranks_->rank(), ranks_->ranks());
  exchange_ = std::make_unique<RecordExchange>(
      rows_, [this](int rank, std::span<const int64_t> numbers, const std::stop_token& stop) {
        return ranks_->ask_for_rows(rank, rows_->asked_for(numbers), stop);
      });
  ranks_->share(shelf_, log_->partitions().size());
}

void AssignedReading::on_arrival(std::function<void()> arrived) {
  exchange_->on_arrival([this, arrived = std::move(arrived)] {
    if (Status failure = exchange_->failure(); !failure.ok()) stream_->fail(std::move(failure));
    arrived();
  });
}

void AssignedReading::bring(std::span<const int64_t> numbers) {
  const std::vector<int64_t> missing = rows_->missing(numbers);
  exchange_->bring(missing);
}

void AssignedReading::close() {
  if (exchange_) exchange_->close();
}

}  // namespace forebay
