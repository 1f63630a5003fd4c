#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "forebay/ledger.h"
#include "forebay/loader.h"
#include "loader/distributed.h"
#include "pipeline/description.h"
#include "stream/journal.h"
#include "stream/kept_records.h"
#include "stream/ranks/dealt_reading.h"
#include "stream/ranks/decisions.h"
#include "stream/ranks/record_exchange.h"
#include "stream/stream_itinerary.h"
#include "stream/stream_source.h"

namespace forebay {

/// What a loader over a source without an end has beside all others: the stream of its records, and the steps that these become.
class StreamRun {
 public:
  /// InvalidArgument where options do not go with a stream, or a journal is none; NotFound where it is not there.
  static Result<std::shared_ptr<StreamRun>> open(const StreamSource& source, const Description& description,
                                                 const LoaderOptions& options, const Place& place);
  ~StreamRun() { close(); }

  /// The source whose samples are the stream's records.
  std::shared_ptr<const Source> source() const { return source_; }
  std::shared_ptr<StepSource> itinerary() const;
  const Stream& stream() const { return *stream_; }
  /// Null: one rank, or ranks that repeat a journal.
  std::shared_ptr<Job> job() const { return decisions_ ? decisions_->job() : nullptr; }
  /// Records of steps that are behind stand in for those that have not come.
  bool keeps_old() const { return stream_->options().when_dry != WhenDry::kWait; }
  /// Samples of a step over all ranks.
  int64_t global_batch() const { return itinerary_->global_batch(); }
  /// Where it begins without a state.
  int64_t first_number() const { return beginning_.number; }
  /// What it may hold in memory.
  uint64_t bytes() const { return stream_->options().bytes; }

  /// Who is told when more is known; not called any more after close().
  void on_arrival(std::function<void()> arrived);
  /// The run begins, before any place() or step. Of one that wants only what comes from now on, asks the log where that is; close() ends that.
  void begin();
  /// The next batch is that of `at`: what is before it is let go of.
  void stands_at(const Cursor& at);
  /// Where the stream stands there, as JSON for a state. Of a place that the run stands at.
  std::string place(const Cursor& at) const;
  /// Nothing is known any more, until go_on().
  void pause() { stream_->stop(); }
  /// InvalidArgument, StateMismatch for a place that is none, or of another stream.
  Result<StreamPlace> read_place(const std::string& json) const;
  void go_on(const Cursor& at, StreamPlace place);
  /// Of the stream, the records of a step over all ranks: from the first to behind the last.
  std::pair<int64_t, int64_t> numbers_of(const StepPlan& step) const;
  /// These records of a step are kept until they are let go of, however far the run has come: each by one of the ranks, in memory or on its disk. An error where one is not there any more.
  Status keep(const StepPlan& step, std::span<const int64_t> numbers) {
    return kept_->keep(*stream_, numbers, numbers_of(step).second);
  }
  /// Of what it reads for other ranks, beside stream().kept(); null where it does not.
  std::shared_ptr<KeptBytes> lent_bytes() const { return reading_ ? reading_->bytes() : nullptr; }
  std::shared_ptr<KeptBytes> kept_bytes() const { return kept_->bytes(); }
  void let_go(std::span<const int64_t> numbers) { kept_->let_go(numbers); }
  /// Kept ones that a step of this rank has: from here to give_back() they are brought and stay. Whether they can be read; an error where one never will.
  void bring(std::span<const int64_t> numbers);
  Result<bool> here(std::span<const int64_t> numbers) const;
  void give_back(std::span<const int64_t> numbers) { kept_->give_back(numbers); }
  std::string awaited_old() const { return exchange_ ? exchange_->awaited() : ""; }
  /// Where these of them lie in the log, JSON; and the other way: they are read again, with the next go_on().
  std::string kept_places(std::span<const int64_t> numbers) const { return kept_->places(numbers); }
  Status read_kept_places(const std::string& json);
  bool is_kept(int64_t number) const { return kept_->is_kept(number); }
  /// From the next chunk on its records are noted there. Unavailable where the file cannot be written; InvalidArgument where it is the journal of another
  /// stream, or of another place of this one.
  Status write_journal(const std::string& path, const Cursor& at);

  void add_to(Ledger& ledger) const;
  /// What was decided so far is in the journal, if there is one. Unavailable.
  Status flush_journal();

  void close();
  /// Behind close(), and the run's end: the memory of records that nobody will ask for.
  void drop_records();

 private:
  StreamRun() = default;
  Status join_job(const LoaderOptions& options, const Place& place);
  void share_reading(const Description& description, const std::shared_ptr<const RecordLog>& log,
                     const StreamOptions& options);
  static RunTerms terms_of(const Stream& stream, const ScheduleOptions& schedule, const Description& description,
                           const LoaderOptions& options);
  Status open_kept(const Description& description, std::shared_ptr<const RecordLog> log, const Place& place);
  static JournalHeader header_of(const RecordLog& log, const StreamOptions& options, StreamPlace place);
  static Status check_same_run(const JournalHeader& was, const JournalHeader& now, const std::string& path);

  std::shared_ptr<Stream> stream_;
  std::shared_ptr<const Source> source_;
  std::shared_ptr<StreamItinerary> itinerary_;
  std::shared_ptr<KeptRecords> kept_;
  StreamPlace beginning_;
  std::stop_source closing_;
  bool repeats_ = false;
  void end_journal();
  std::shared_ptr<JournalWriter> journal() const;

  int rank_ = 0;
  mutable std::mutex journal_mutex_;  // close() comes from any thread
  std::shared_ptr<JournalWriter> journal_;
  std::shared_ptr<Decisions> decisions_;      // null: of one rank
  std::shared_ptr<DealtReading> reading_;     // null: this rank reads all by itself
  std::unique_ptr<RecordExchange> exchange_;  // null: this rank keeps all by itself, in memory
};

}  // namespace forebay
