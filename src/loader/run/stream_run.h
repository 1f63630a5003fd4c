#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "loader/run/run.h"
#include "stream/journal.h"
#include "stream/kept_records.h"
#include "stream/ranks/dealt_reading.h"
#include "stream/ranks/decisions.h"
#include "stream/ranks/record_exchange.h"
#include "stream/stream_itinerary.h"
#include "stream/stream_source.h"

namespace forebay {

/// A run over a source without an end: records that arrive while it goes on.
class StreamRun final : public Run, public std::enable_shared_from_this<StreamRun> {
 public:
  /// InvalidArgument where options do not go with a stream, or a journal is none; NotFound where it is not there.
  static Result<std::shared_ptr<StreamRun>> open(const RunInput& input, const StreamSource& source);
  ~StreamRun() override { stop(); }

  /// Its samples are the stream's records.
  std::shared_ptr<const Source> source() const override { return source_; }
  /// Records of steps that are behind stand in for those that have not come: the run has to be replayed.
  bool repeats() const { return stream_->options().on_underrun != OnUnderrun::kWait; }

  Status choose(RunSetup& setup) override;
  Status order(RunSetup& setup) override;
  Status open_steps(RunSetup& setup) override;
  std::shared_ptr<StepSource> steps() const override { return steps_; }
  /// Where it wants only what comes from now on, the log is asked where that is; stop() ends that.
  void begin(const std::shared_ptr<Runner>& runner) override;

  Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const override;
  std::shared_ptr<RunSamples> samples(const SampleLabels& labels) override;

  Status before_batch(const Cursor& at) override;
  /// What is before the next batch is let go of.
  void stands_at(const Cursor& at) override { stream_->behind(steps_->number_at(at)); }

  /// What is before the state is in the journal then, also after a kill.
  void save(Checkpoint& state) const override;
  Result<GoOn> load(const Checkpoint& saved) override;
  bool is_endless() const override { return true; }
  void pause() override { stream_->stop(); }
  /// From the next chunk on its records are noted there. Unavailable where the file cannot be written; InvalidArgument
  /// where it is the journal of another stream, or of another place of this one.
  Status write_journal(const std::string& path, const Cursor& at) override;

  void add_to(Ledger& ledger) const override;
  void stop() override;
  void release() override;

 private:
  class Samples;

  explicit StreamRun(const RunInput& input) : input_(input) {}
  Status join_job();
  void share_reading(const std::shared_ptr<const RecordLog>& log, const StreamOptions& options);
  RunTerms terms(const ScheduleOptions& schedule) const;
  Status open_kept(std::shared_ptr<const RecordLog> log);
  static JournalHeader header_of(const RecordLog& log, const StreamOptions& options, StreamPlace place);
  static Status check_same_run(const JournalHeader& was, const JournalHeader& now, const std::string& path);

  uint64_t bytes() const { return stream_->options().bytes; }  // that it may hold in memory
  Result<StreamPlace> read_place(const std::string& json) const;
  void go_on(const Cursor& at, StreamPlace place);
  Status flush_journal() const;
  void end_journal();
  std::shared_ptr<JournalWriter> journal() const;

  const RunInput& input_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<const Source> source_;
  std::shared_ptr<StreamItinerary> steps_;
  std::shared_ptr<KeptRecords> kept_;
  StreamPlace beginning_;  // without a state
  std::stop_source closing_;
  bool repeats_ = false;

  mutable std::mutex journal_mutex_;  // close() comes from any thread
  std::shared_ptr<JournalWriter> journal_;
  std::shared_ptr<Decisions> decisions_;      // null: of one rank, or of ranks that repeat a journal
  std::shared_ptr<DealtReading> reading_;     // null: this rank reads all by itself
  std::unique_ptr<RecordExchange> exchange_;  // null: this rank keeps all by itself, in memory
};

}  // namespace forebay
