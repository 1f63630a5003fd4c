#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "cluster/run_terms.h"
#include "forebay/stats/stream.h"
#include "loader/run/run.h"
#include "loader/run/run_journal.h"
#include "stream/journal.h"
#include "stream/ranks/assigned_reading.h"
#include "stream/ranks/record_exchange.h"
#include "stream/ranks/stream_group.h"
#include "stream/replay_records.h"
#include "stream/stream_itinerary.h"
#include "stream/stream_source.h"

namespace forebay {

/// What a stream is to the pipeline of a run.
struct StreamPart {
  double share = 1;       ///< its share of each global batch, about
  std::string name = {};  ///< of the part; empty if it is all of the data
  /// The ranks that read it; null if there is one, or if each of them repeats a journal.
  std::shared_ptr<StreamGroup> group = nullptr;
  /// Whether the replay buffer of the run has its records.
  bool retains = false;
};

/// A run over a source without an end, whose records arrive during the run. Of several ranks, rank
/// 0 decides which records come next and the others follow it, unless a journal is repeated. It
/// owns the stream and the exchange of records with other ranks.
class StreamRun final : public Run, public std::enable_shared_from_this<StreamRun> {
 public:
  /// Opens a run over all of the data, and connects the ranks. InvalidArgument if an option does not
  /// apply to streams, or journal= names a file of another kind. NotFound if there is no such
  /// journal.
  static Result<std::shared_ptr<StreamRun>> open(const RunInput& input, const StreamSource& source);
  /// Opens a run over a part of the data. Its opener tells the ranks the settings(). Errors are those
  /// of open().
  static Result<std::shared_ptr<StreamRun>> open_part(const RunInput& input, const StreamSource& source,
                                                      const StreamPart& part);
  ~StreamRun() override { stop(); }

  /// Says goodbye to the other ranks, so that they need not wait for this one: the first part of
  /// stop(), which does not wait for them.
  void leave();

  /// Its samples are the records of the stream.
  std::shared_ptr<const Source> source() const override { return source_; }
  /// Whether delivered records are replayed on an underrun. The run then needs a replay buffer.
  bool repeats() const { return stream_->options().on_underrun != OnUnderrun::kWait; }
  const std::shared_ptr<Stream>& stream() const { return stream_; }
  const std::shared_ptr<StreamItinerary>& itinerary() const { return steps_; }
  /// Records that other ranks read for this one. Null if this rank reads all records itself.
  std::shared_ptr<StepRecords> remote_records() const { return reading_; }
  /// The settings of the stream that must be equal on all ranks.
  std::vector<RunTerms::Term> settings() const;
  /// Adds the memory of its records.
  void add_accounts(std::vector<ByteBudget::Account>& accounts) const;

  Status choose(RunSetup& setup) override;
  Status open_steps(RunSetup& setup) override;
  std::shared_ptr<StepSource> steps() const override { return steps_; }
  /// If the stream starts "now", asks the log for its end. stop() ends that call.
  void begin(const std::shared_ptr<Runner>& runner) override;

  Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const override;
  std::shared_ptr<RunSamples> samples(std::vector<SampleLabels> labels) override;
  /// Its records, as samples of a branch.
  std::shared_ptr<ReplayBranch> replayed(SampleLabels labels);

  Status before_batch(const Cursor& at) override;
  /// Releases records before the next batch.
  void advanced_to(const Cursor& at) override { stream_->delivered(steps_->number_at(at)); }

  // A state at a place. The journal is flushed first, so that it covers all records before the
  // state, also after a kill.
  void save(Checkpoint& state) const override { state.streams[""] = state_at(state.cursor); }
  Result<Resume> load(const Checkpoint& saved) override;
  StreamState state_at(const Cursor& at) const;
  Result<Resume> load_at(const Cursor& at, const StreamState& state);
  bool is_endless() const override { return true; }
  void pause() override { stream_->stop(); }
  /// Logs records to that file from the next decision on. Unavailable if the file cannot be
  /// written. InvalidArgument if it is the journal of another stream, or of another place of this
  /// stream.
  Status write_journal(const std::string& path, const Cursor& at) override;
  /// Opens the file of write_journal(), with its errors, for OpenedJournal::start().
  Result<std::unique_ptr<OpenedJournal>> open_journal(const std::string& path, const Cursor& at);
  /// Whether write_journal() is for this rank: only rank 0 decides, and so knows all decisions.
  /// InvalidArgument if the run repeats a journal.
  Result<bool> may_write_journal() const;

  void add_to(Ledger& ledger) const override;
  StreamStats stats() const;
  void stop() override;
  void release() override;

 private:
  class Replayed;    // in stream_samples.cc
  class NewRecords;  // there, too

  StreamRun(const RunInput& input, const StreamPart& part)
      : input_(input), name_(part.name), group_(part.group), retains_(part.retains) {}
  void open_stream(const std::shared_ptr<const RecordLog>& log, const StreamOptions& options,
                   const std::shared_ptr<JournalReader>& journal);
  void share_reading(const std::shared_ptr<const RecordLog>& log, const StreamOptions& options);
  Status open_replay(std::shared_ptr<const RecordLog> log);
  void open_itinerary(const ScheduleOptions& schedule);

  uint64_t bytes() const { return stream_->options().bytes; }  // limit of records in memory
  Result<StreamPlace> place_of(const StreamState& state) const;
  void resume_at(const Cursor& at, StreamPlace place);

  const RunInput& input_;
  const std::string name_;                    // of the part; or ""
  const std::shared_ptr<StreamGroup> group_;  // null: one rank, or ranks that repeat a journal
  const bool retains_;                        // see StreamPart
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<const Source> source_;
  std::shared_ptr<StreamItinerary> steps_;
  std::shared_ptr<ReplayRecords> replay_;
  StreamPlace beginning_;  // place of a run without a state
  std::stop_source closing_;
  bool repeats_ = false;

  RunJournal journal_;
  std::shared_ptr<AssignedReading> reading_;  // null: this rank reads all records itself
  std::unique_ptr<RecordExchange> exchange_;  // null: this rank retains all records, in memory
};

}  // namespace forebay
