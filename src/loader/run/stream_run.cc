#include "loader/run/stream_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "loader/compile/ordering.h"
#include "loader/compile/reclaimable_accounts.h"
#include "loader/describe/step_arguments.h"
#include "loader/peers/open_stream_groups.h"
#include "loader/run/stream_settings.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// The records and the notes that wait for slower ranks have limits of their own: the stream's
// memory divided by these.
constexpr uint64_t kLateRecordDivisor = 8, kNoteDivisor = 4;
constexpr std::chrono::seconds kBeginningPatience{5};   // wait of an opening rank for rank 0
constexpr int64_t kLargestDecision = int64_t{1} << 24;  // most records of a state's window

// Opens the journal at `path`, whose decisions the run repeats, and sets in `options` how records
// are dropped. Null if there is no path. StateMismatch if another run wrote the journal.
Result<std::shared_ptr<JournalReader>> open_repeated_journal(const std::string& path, const RecordLog& log,
                                                             StreamOptions& options) {
  if (path.empty()) return std::shared_ptr<JournalReader>();
  FOREBAY_ASSIGN(std::shared_ptr<JournalReader> journal, JournalReader::open(path, log.partitions()));
  FOREBAY_RETURN_IF_ERROR(check_same_run(journal->header(), journal_header(log, options, {}), path));
  // The records that a line of the journal means depend on how the run dropped others.
  if (journal->header().sampled != (options.policy == BufferPolicy::kSample))
    options.policy = journal->header().sampled ? BufferPolicy::kSample : BufferPolicy::kBlock;
  return journal;
}

}  // namespace

Result<std::shared_ptr<StreamRun>> StreamRun::open(const RunInput& input, const StreamSource& source) {
  // Wrong options are reported before the ranks meet.
  FOREBAY_RETURN_IF_ERROR(check_stream_options(input.options));
  FOREBAY_ASSIGN(const auto groups, open_stream_groups(input.options, input.rank_info, 1));
  FOREBAY_ASSIGN(std::shared_ptr<StreamRun> run,
                 open_part(input, source, {.group = groups.front(), .retains = retains_records(input.description())}));
  if (groups.front()) groups.front()->job()->set_run(stream_terms(input, {run->settings()}));
  return run;
}

Result<std::shared_ptr<StreamRun>> StreamRun::open_part(const RunInput& input, const StreamSource& source,
                                                        const StreamPart& part) {
  FOREBAY_RETURN_IF_ERROR(check_stream_options(input.options));
  const ScheduleOptions schedule = schedule_of(input.description(), 0, input.rank_info.world_size);
  FOREBAY_RETURN_IF_ERROR(schedule.check());
  std::shared_ptr<StreamRun> run(new StreamRun(input, part));
  const auto step_records = static_cast<double>(schedule.batch_size * schedule.world_size) * part.share;
  StreamOptions options =
      stream_options_of(input.description(), input.options, std::max<int64_t>(static_cast<int64_t>(step_records), 1));
  // The journal comes before the spill space, since it determines the policy.
  FOREBAY_ASSIGN(const std::shared_ptr<JournalReader> journal,
                 open_repeated_journal(input.options.stream.journal, *source.log(), options));
  if (options.policy == BufferPolicy::kSpill) {
    FOREBAY_ASSIGN(options.spill, open_spill_space(input.description(), *source.log()));
  }
  run->open_stream(source.log(), options, journal);
  // Both of its possible guides are set before it first seeks, in begin().
  if (run->group_) run->group_->lead_or_follow(*run->stream_);
  FOREBAY_RETURN_IF_ERROR(run->open_replay(source.log()));
  // The source returns replayed records, too, so it comes after the replay buffer.
  run->source_ = source.over(run->stream_, run->replay_);
  run->open_itinerary(schedule);
  return run;
}

// Opens the stream, and the reading that it shares with other ranks. `journal` may be null.
void StreamRun::open_stream(const std::shared_ptr<const RecordLog>& log, const StreamOptions& options,
                            const std::shared_ptr<JournalReader>& journal) {
  share_reading(log, options);
  stream_ = std::make_shared<Stream>(reading_ ? reading_->log() : log, options);
  if (reading_) reading_->attach(stream_);
  beginning_ = journal ? journal->header().place : stream_->beginning();
  repeats_ = journal != nullptr;
  if (journal) stream_->set_guide(journal);
}

void StreamRun::open_itinerary(const ScheduleOptions& schedule) {
  steps_ = std::make_shared<StreamItinerary>(
      stream_, StreamItineraryOptions{.batch_size = schedule.batch_size,
                                      .world_size = schedule.world_size,
                                      .rank = input_.rank_info.rank,
                                      .steps_per_epoch = input_.options.stream.steps_per_epoch,
                                      .epochs = input_.options.epochs,
                                      .last = schedule.last});
  if (reading_) steps_->set_records(reading_);
}

std::vector<RunTerms::Term> StreamRun::settings() const {
  return settings_of_stream(input_.description(), stream_->options(), stream_->log(), name_);
}

// Lets each rank read only a part of the log. This needs a policy under which no rank needs all
// records: a replay buffer chooses by their content, and other policies drop or spill the excess.
void StreamRun::share_reading(const std::shared_ptr<const RecordLog>& log, const StreamOptions& options) {
  if (!group_ || retains_ || options.policy != BufferPolicy::kBlock || !log->is_served()) return;
  reading_ = std::make_shared<AssignedReading>(
      log, group_, RecordShelf::Limits{options.bytes / kLateRecordDivisor, options.bytes / kNoteDivisor});
}

// Records that are objects of the program stay in its memory, so each rank retains all of them. So
// does each rank that repeats a journal, since these ranks do not communicate.
Status StreamRun::open_replay(std::shared_ptr<const RecordLog> log) {
  ReplayRecordsOptions options{.memory_bytes = bytes()};
  if (retains_ && log->records_are_whole()) {
    FOREBAY_ASSIGN(options.disk, open_replay_disk(input_.description()));
    if (group_) options.share = {input_.rank_info.rank, input_.rank_info.world_size};
  }
  const bool exchanges = options.disk || options.share.ranks > 1;
  replay_ = std::make_shared<ReplayRecords>(std::move(log), std::move(options));
  if (!exchanges) return {};
  if (group_) group_->serve_replay(replay_);
  using Items = Result<std::vector<ResponseItem>>;
  exchange_ = std::make_unique<RecordExchange>(
      *replay_, [ranks = group_.get()](int rank, std::span<const int64_t> numbers, const std::stop_token& stop) {
        std::vector<RankItem> items;
        for (const int64_t number : numbers) items.push_back({0, static_cast<uint64_t>(number)});
        return ranks != nullptr ? ranks->ask(RankRequest::Kind::kReplayRecords, rank, std::move(items), stop)
                                : Items(unavailable("there is one rank"));
      });
  return {};
}

Status StreamRun::choose(RunSetup& setup) {
  setup.branches.front().selection = records_of_stream();
  return {};
}

Status StreamRun::open_steps(RunSetup& setup) {
  add_reclaimable_accounts(*setup.plan, {}, input_.sizes.memory, setup.runner.memory.accounts);
  add_accounts(setup.runner.memory.accounts);
  return {};
}

void StreamRun::add_accounts(std::vector<ByteBudget::Account>& accounts) const {
  // All three share one limit.
  accounts.push_back({Use::kFetched, stream_->memory(), ByteBudget::Kind::kEntries, bytes(), 0, /*beside=*/bytes()});
  if (reading_) accounts.push_back({Use::kFetched, reading_->memory(), ByteBudget::Kind::kEntries, bytes()});
  accounts.push_back({Use::kCaches, replay_->memory(), ByteBudget::Kind::kEntries, bytes()});
}

Result<EpochPlan> StreamRun::plan(int64_t, int64_t, int64_t, int64_t) const {
  return invalid_argument("plan(): of a stream only what has arrived is known");
}

Status StreamRun::before_batch(const Cursor&) { return group_ ? group_->job()->check_run() : Status(); }

// A stream that starts "now" begins at the end of the log as of this call, also if it resumes from
// a state that was saved before its first batch. If the log does not answer, its reader asks again.
void StreamRun::begin(const std::shared_ptr<Runner>& runner) {
  const auto arrived = [weak = std::weak_ptr(runner)] {
    if (const std::shared_ptr<Runner> running = weak.lock()) running->notify_steps_changed();
  };
  if (exchange_) exchange_->on_arrival(arrived);
  if (reading_) reading_->on_arrival(arrived);
  stream_->on_arrival(arrived);
  StreamPlace from = beginning_;
  const bool decides = !repeats_ && (!group_ || input_.rank_info.rank == 0);
  if (stream_->options().from_now && decides) {
    Result<std::vector<std::string>> ends = stream_->log().ends(closing_.get_token());
    from.began_at_log_end = ends.ok();
    if (ends.ok()) from.after = std::move(*ends);
  }
  resume_at({}, std::move(from));
  // A state that is made before the first batch is the same on all ranks.
  if (stream_->options().from_now && group_ && !decides &&
      !stream_->await_beginning(kBeginningPatience, closing_.get_token()))
    log_warning(
        "rank 0 has not said where the stream begins: a state of this rank that is made before the first batch goes "
        "on with what comes after it was loaded");
}

StreamState StreamRun::state_at(const Cursor& at) const {
  (void)journal_.flush();
  return {stream_->log().partitions(), stream_->place(steps_->number_at(at))};
}

Result<Run::Resume> StreamRun::load(const Checkpoint& saved) {
  FOREBAY_ASSIGN(const StreamState state, saved.stream_at(""));
  return load_at(saved.cursor, state);
}

Result<Run::Resume> StreamRun::load_at(const Cursor& at, const StreamState& state) {
  FOREBAY_ASSIGN(StreamPlace place, place_of(state));
  return Resume([this, at, place = std::move(place)] { resume_at(at, place); });
}

// InvalidArgument if this log cannot have the place; StateMismatch if it is of another stream.
Result<StreamPlace> StreamRun::place_of(const StreamState& state) const {
  FOREBAY_ASSIGN(StreamPlace place, state.place_in(stream_->log().partitions()));
  if (place.decision && place.decision->size() > kLargestDecision)
    return invalid_argument(fmt::format("this state stands in a window of {} records, and {} are the most",
                                        place.decision->size(), kLargestDecision));
  if (place.decision && place.decision->missing == 0 &&
      place.sampled != (stream_->options().policy == BufferPolicy::kSample))
    return Status(
        Code::kStateMismatch,
        fmt::format("the state stands in a window that was {}sampled; go on with the same .buffer() to its end",
                    place.sampled ? "" : "not "));
  for (const std::string& offset : place.after) {
    if (!offset.empty()) FOREBAY_RETURN_IF_ERROR(stream_->log().check_offset(offset));
  }
  return place;
}

void StreamRun::resume_at(const Cursor& at, StreamPlace place) {
  // If a batch of another size ended among numbers without records, the rest of them is not
  // reported as missing.
  if (place.decision && place.decision->missing > 0) {
    place.number = place.decision->first + place.decision->missing;
    place.decision.reset();
  }
  const int64_t number = place.number;
  journal_.end(*stream_);
  // Records that are being read now belong to the old place, and must not be reported for the new
  // one.
  if (reading_) stream_->stop();
  if (group_) group_->begin_run();
  if (reading_) reading_->begin_run();
  if (exchange_) exchange_->begin_run();
  replay_->begin(number);
  stream_->seek(std::move(place));
  steps_->set_anchor(at, number);
}

Status StreamRun::write_journal(const std::string& path, const Cursor& at) {
  FOREBAY_ASSIGN(const bool writes, may_write_journal());
  if (!writes) return {};
  FOREBAY_ASSIGN(const std::unique_ptr<OpenedJournal> journal, open_journal(path, at));
  journal->start();
  return {};
}

Result<std::unique_ptr<OpenedJournal>> StreamRun::open_journal(const std::string& path, const Cursor& at) {
  return journal_.open(*stream_, path, steps_->number_at(at));
}

Result<bool> StreamRun::may_write_journal() const {
  if (repeats_) return invalid_argument("this loader repeats a journal; it writes none");
  return !group_ || input_.rank_info.rank == 0;
}

void StreamRun::add_to(Ledger& ledger) const { ledger.stream = stats(); }

StreamStats StreamRun::stats() const {
  const Stream::Stats stats = stream_->stats();
  StreamStats out;
  out.arrived = stats.arrived;
  out.trimmed = stats.trimmed;
  out.missing = stats.missing;
  out.reconnects = stats.reconnects;
  out.bytes = stats.bytes + replay_->memory()->bytes();
  if (exchange_) {
    const RecordExchange::Stats replayed = exchange_->stats();
    out.old_lent = replayed.received;
    out.old_reread = replayed.reread;
    out.old_lost = replayed.lost;
  }
  if (reading_) {
    const RecordExchange::Stats remote = reading_->stats();
    out.from_ranks = remote.received;
    out.reread = remote.reread;
    out.bytes += reading_->memory()->bytes();
  }
  out.disk_bytes = replay_->disk_bytes() + (stream_->options().spill ? stream_->options().spill->used() : 0);
  const std::vector<std::string>& partitions = stream_->log().partitions();
  for (size_t p = 0; p < partitions.size(); ++p)
    out.partitions.push_back({partitions[p], static_cast<int64_t>(stats.waiting[p]), stats.dropped[p]});
  return out;
}

void StreamRun::release() {
  if (group_) group_->job()->close();
  stream_->drop_records();  // no step needs them any more
}

void StreamRun::leave() {
  closing_.request_stop();
  if (exchange_) exchange_->close();
  if (reading_) reading_->close();
  if (group_) group_->leave();
}

void StreamRun::stop() {
  leave();
  // Before the stream, so that calls that wait for rank 0 return.
  if (group_) group_->close();
  if (!stream_) return;  // opening it failed
  stream_->stop();
  (void)journal_.flush();
}

}  // namespace forebay
