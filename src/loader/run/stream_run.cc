#include "loader/run/stream_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "loader/compile/ordering.h"
#include "loader/compile/reclaimable_accounts.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "loader/peers/open_job.h"
#include "loader/run/sample_labels.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr uint64_t kLateShare = 8, kNoteShare = 4;      // parts of a stream's memory for late ranks
constexpr std::chrono::seconds kBeginningPatience{5};   // wait of an opening rank for rank 0
constexpr int64_t kLargestDecision = int64_t{1} << 24;  // most records of a state's window

BufferPolicy policy_of(const std::string& name) {
  if (name == "drop_oldest") return BufferPolicy::kDropOldest;
  if (name == "sample") return BufferPolicy::kSample;
  return name == "spill" ? BufferPolicy::kSpill : BufferPolicy::kBlock;
}

uint64_t default_bytes(const std::optional<uint64_t>& memory) {
  constexpr uint64_t kBytes = uint64_t{64} << 20;
  return memory ? std::clamp<uint64_t>(*memory / 4, 1, kBytes) : kBytes;
}

StreamOptions options_of(const Description& description, const LoaderOptions& given, int64_t global_batch) {
  StreamOptions options;
  options.seed = given.seed;
  options.bytes = default_bytes(given.resources.memory);
  if (const OpSpec* const buffer = find_step(description, OpEffect::kBuffering)) {
    const Args args(buffer->args, catalog().find(buffer->name)->args);
    options.policy = policy_of(args.text("policy"));
    if (args.has("bytes")) options.bytes = args.bytes("bytes");
    const std::string on_underrun = args.text("on_underrun");
    if (on_underrun != "wait")
      options.on_underrun = on_underrun == "repeat" ? OnUnderrun::kRepeat : OnUnderrun::kRehearse;
  }
  const int64_t window = int_arg(find_step(description, OpEffect::kOrder), "window", 0);
  options.shuffled = window > 0;
  // Without a window, a decision covers one step over all ranks: no more than is needed.
  options.decision_records = static_cast<size_t>(window > 0 ? window : global_batch);
  const Json args = description.steps().front().args;
  options.skip_trimmed = args.value("on_trimmed", Json()) == Json("skip");
  options.from_now = args.value("start", Json()) == Json("now");
  return options;
}

// Whether the run retains records for a replay, in addition to those of the next steps.
bool retains_records(const Description& description, const StreamOptions& options) {
  return options.on_underrun != OnUnderrun::kWait || find_step(description, OpEffect::kReplay) != nullptr;
}

std::string policies_of(const OpSpec& buffer) {
  const Args args(buffer.args, catalog().find(buffer.name)->args);
  return args.text("policy") + ", " + args.text("on_underrun");
}

// Disk space for records that .buffer() spills or that a replay retains.
struct DiskBudget {
  std::string folder;
  uint64_t bytes = uint64_t{10} << 30;
  bool is_explicit = false;  // the user named the folder
};

// Returns the disk space that .buffer() allows.
DiskBudget disk_budget(const Description& description) {
  std::error_code error;
  DiskBudget budget{.folder = std::filesystem::temp_directory_path(error).string()};
  if (const OpSpec* const buffer = find_step(description, OpEffect::kBuffering)) {
    const Args args(buffer->args, catalog().find(buffer->name)->args);
    budget.bytes = args.bytes("disk");
    budget.is_explicit = args.has("dir");
    if (budget.is_explicit) budget.folder = args.text("dir");
  }
  return budget;
}

// Null if the system's temporary folder is unusable; then all retained records stay in memory.
Result<std::shared_ptr<ReplayDisk>> replay_disk(const Description& description) {
  const DiskBudget budget = disk_budget(description);
  Result<std::unique_ptr<ReplayDisk>> disk = ReplayDisk::open(budget.folder, budget.bytes);
  if (!disk.ok() && !budget.is_explicit) return std::shared_ptr<ReplayDisk>();
  if (!disk.ok()) return disk.status();
  return std::shared_ptr<ReplayDisk>(*std::move(disk));
}

Result<std::shared_ptr<SpillSpace>> spill_space(const Description& description, const RecordLog& log) {
  if (!log.records_are_whole())
    return invalid_argument(fmt::format(
        "policy=\"spill\": records of {} are objects of your program, which stay in its memory; give \"block\"",
        log.name()));
  const DiskBudget budget = disk_budget(description);
  return SpillSpace::open(budget.folder, budget.bytes);
}

Status check_options(const LoaderOptions& options) {
  if (options.errors.on_error == OnError::kReplace)
    return invalid_argument("on_error=\"replace\": a stream has no other sample to take; give \"skip\" or \"raise\"");
  const std::optional<int64_t>& steps = options.stream.steps_per_epoch;
  if (steps && *steps < 1) return invalid_argument(fmt::format("steps_per_epoch={} is not positive", *steps));
  if (options.epochs && !steps)
    return invalid_argument("epochs= of a stream needs steps_per_epoch=: it has no end of its own");
  return {};
}

}  // namespace

/// The records of a stream's steps. Records in the replay buffer are retained by ReplayRecords.
class StreamRun::Samples final : public RunSamples {
 public:
  Samples(SampleLabels labels, std::shared_ptr<StreamRun> run) : labels_(std::move(labels)), run_(std::move(run)) {}

  Result<std::vector<Rehearsal::Sample>> new_samples(const StepPlan& step) const override {
    const auto [from, to] = numbers_of(step);
    const std::vector<int64_t> missing = run_->stream_->missing(from, to);
    std::vector<Rehearsal::Sample> samples;
    for (int64_t number = from; number < to; ++number) {
      if (std::binary_search(missing.begin(), missing.end(), number)) continue;
      FOREBAY_ASSIGN(const int64_t label, labels_.of_record(*run_->source_, number));
      samples.push_back({number, label});
    }
    return samples;
  }
  // Retains the records however far the run gets. One of the ranks has each, in memory or on disk.
  Status retain(const StepPlan& step, std::span<const int64_t> entered) override {
    return run_->replay_->retain(*run_->stream_, entered, numbers_of(step).second);
  }
  void release(std::span<const int64_t> left) override { run_->replay_->release(left); }
  void start_fetch(std::span<const int64_t> ids) override {
    if (run_->exchange_) run_->exchange_->start_fetch(run_->replay_->pin(ids));
  }
  void on_delivered(std::span<const int64_t> ids) override { run_->replay_->unpin(ids); }
  Result<bool> all_available(std::span<const int64_t> ids) const override {
    if (!run_->exchange_ || run_->replay_->all_available(ids)) return true;
    FOREBAY_RETURN_IF_ERROR(run_->exchange_->failure());
    return false;
  }
  std::string awaited() const override { return run_->exchange_ ? run_->exchange_->awaited() : ""; }

  // Returns their places in the log, from which they are read again when the run resumes.
  std::optional<std::vector<PlacedRecord>> records(std::span<const int64_t> ids) const override {
    return run_->replay_->places(ids);
  }
  Status find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) override {
    FOREBAY_RETURN_IF_ERROR(run_->replay_->restore(records));
    if (std::ranges::all_of(ids, [&](int64_t id) { return run_->replay_->contains(id); })) return {};
    return invalid_argument("this state keeps records of which it does not say where they lie");
  }
  Status check_before(std::span<const int64_t> ids) const override {
    const int64_t first = run_->beginning_.number;
    for (const int64_t id : ids) {
      if (id >= first)
        return Status(
            Code::kStateMismatch,
            fmt::format("rehearsal=: record {} was kept, and this run begins with record {}, so it would meet "
                        "another one of that number; go on from the state with load_state_dict(), or repeat "
                        "the journal that begins there",
                        id, first));
    }
    return {};
  }

 private:
  // Returns the numbers of a step's records over all ranks: the first, and one after the last.
  std::pair<int64_t, int64_t> numbers_of(const StepPlan& step) const {
    const int64_t from = run_->steps_->number_at(step.at);
    return {from, from + run_->steps_->size_at(from)};
  }

  const SampleLabels labels_;
  const std::shared_ptr<StreamRun> run_;
};

Result<std::shared_ptr<StreamRun>> StreamRun::open(const RunInput& input, const StreamSource& source) {
  const LoaderOptions& options = input.options;
  FOREBAY_RETURN_IF_ERROR(check_options(options));
  const ScheduleOptions schedule = schedule_of(input.description(), 0, input.rank_info.world_size);
  FOREBAY_RETURN_IF_ERROR(schedule.check());
  std::shared_ptr<StreamRun> run(new StreamRun(input));
  StreamOptions stream = options_of(input.description(), options, schedule.batch_size * schedule.world_size);
  std::shared_ptr<JournalReader> journal;
  if (const std::string& path = options.stream.journal; !path.empty()) {
    FOREBAY_ASSIGN(journal, JournalReader::open(path, source.log()->partitions()));
    FOREBAY_RETURN_IF_ERROR(check_same_run(journal->header(), header_of(*source.log(), stream, {}), path));
    // The records that a line of the journal means depend on how the run dropped others.
    if (journal->header().sampled != (stream.policy == BufferPolicy::kSample))
      stream.policy = journal->header().sampled ? BufferPolicy::kSample : BufferPolicy::kBlock;
  }
  if (stream.policy == BufferPolicy::kSpill) {
    FOREBAY_ASSIGN(stream.spill, spill_space(input.description(), *source.log()));
  }
  if (!journal) FOREBAY_RETURN_IF_ERROR(run->join_job());
  run->share_reading(source.log(), stream);
  run->stream_ = std::make_shared<Stream>(run->reading_ ? run->reading_->log() : source.log(), stream);
  if (run->reading_) run->reading_->attach(run->stream_);
  run->beginning_ = journal ? journal->header().place : run->stream_->beginning();
  run->repeats_ = journal != nullptr;
  if (journal) run->stream_->set_guide(std::move(journal));
  if (run->group_) run->group_->lead_or_follow(*run->stream_, run->terms(schedule));
  FOREBAY_RETURN_IF_ERROR(run->open_replay(source.log()));
  run->source_ = source.over(run->stream_, run->replay_);
  run->steps_ = std::make_shared<StreamItinerary>(
      run->stream_, StreamItineraryOptions{.batch_size = schedule.batch_size,
                                           .world_size = schedule.world_size,
                                           .rank = input.rank_info.rank,
                                           .steps_per_epoch = options.stream.steps_per_epoch,
                                           .epochs = options.epochs,
                                           .last = schedule.last});
  if (run->reading_) run->steps_->set_records(run->reading_);
  return run;
}

// If a journal is repeated, every rank reads it by itself; otherwise the ranks follow rank 0.
Status StreamRun::join_job() {
  const LoaderOptions& options = input_.options;
  if (input_.rank_info.world_size > 1 && !peers_requested(options.job.peers))
    return invalid_argument(
        fmt::format("the {} ranks of a stream must hear from rank 0 which records come next: give peers=, such as "
                    "\"launcher\" or a folder that they share",
                    input_.rank_info.world_size));
  const auto service = std::make_shared<StreamService>();
  FOREBAY_ASSIGN(std::shared_ptr<Job> job, open_job(options.job.peers, input_.rank_info,
                                                    {{std::string(kStreamServiceName), service}}, options.stop));
  if (job) group_ = std::make_shared<StreamGroup>(std::move(job), service);
  return {};
}

// Settings that decide which rank has which record, how many steps there are, and what ranks
// exchange.
RunTerms StreamRun::terms(const ScheduleOptions& schedule) const {
  const Description& description = input_.description();
  const LoaderOptions& options = input_.options;
  const int64_t window = stream_->options().shuffled ? static_cast<int64_t>(stream_->options().decision_records) : 0;
  const OpSpec* const buffer = find_step(description, OpEffect::kBuffering);
  const OpSpec* const rehearse = find_step(description, OpEffect::kReplay);
  return {{{"seed", fmt::format("{}", options.seed)},
           {"batch size", fmt::format("{}", schedule.batch_size)},
           {"ranks", fmt::format("{}", schedule.world_size)},
           {"window", fmt::format("{}", window)},
           {"steps_per_epoch", fmt::format("{}", options.stream.steps_per_epoch.value_or(0))},
           {"epochs", fmt::format("{}", options.epochs.value_or(0))},
           {"the stream", stream_->log().identity()},
           {".buffer", buffer == nullptr ? "block, wait" : policies_of(*buffer)},
           {".rehearse", rehearse == nullptr ? "none" : rehearse->args.dump()}}};
}

// Lets each rank read only a part of the log. This needs a policy under which no rank needs all
// records: a replay buffer chooses by their content, and other policies drop or spill the excess.
void StreamRun::share_reading(const std::shared_ptr<const RecordLog>& log, const StreamOptions& options) {
  const bool retains = retains_records(input_.description(), options);
  if (!group_ || retains || options.policy != BufferPolicy::kBlock || !log->is_served()) return;
  reading_ = std::make_shared<AssignedReading>(
      log, group_, RecordShelf::Limits{options.bytes / kLateShare, options.bytes / kNoteShare});
}

// Records that are objects of the program stay in its memory, so each rank retains all of them. So
// does each rank that repeats a journal, since these ranks do not communicate.
Status StreamRun::open_replay(std::shared_ptr<const RecordLog> log) {
  const bool retains = retains_records(input_.description(), stream_->options());
  ReplayRecordsOptions options{.memory_bytes = bytes()};
  if (retains && log->records_are_whole()) {
    FOREBAY_ASSIGN(options.disk, replay_disk(input_.description()));
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
        return ranks != nullptr ? ranks->ask(RankRequest::Kind::kRecords, rank, std::move(items), stop)
                                : Items(unavailable("there is one rank"));
      });
  return {};
}

JournalHeader StreamRun::header_of(const RecordLog& log, const StreamOptions& options, StreamPlace place) {
  return {.log = log.identity(),
          .seed = options.seed,
          .shuffled = options.shuffled,
          .sampled = options.policy == BufferPolicy::kSample,
          .on_underrun = options.on_underrun,
          .place = std::move(place)};
}

Status StreamRun::check_same_run(const JournalHeader& was, const JournalHeader& now, const std::string& path) {
  std::string differs;
  if (was.log != now.log) differs += ", the stream";
  if (was.seed != now.seed) differs += ", the seed";
  if (was.shuffled != now.shuffled) differs += ", .shuffle()";
  if (was.on_underrun != now.on_underrun) differs += ", .buffer(on_underrun=)";
  if (differs.empty()) return {};
  return Status(Code::kStateMismatch,
                fmt::format("{} was written with something else: {} differ(s)", path, differs.substr(2)));
}

Status StreamRun::choose(RunSetup& setup) {
  setup.compile.selection = records_of_stream();
  return {};
}

Status StreamRun::open_steps(RunSetup& setup) {
  std::vector<ByteBudget::Account>& accounts = setup.runner.memory.accounts;
  add_reclaimable_accounts(*setup.plan, {}, input_.sizes.memory, accounts);
  // All three share one limit.
  accounts.push_back({Use::kFetched, stream_->memory(), ByteBudget::Kind::kEntries, bytes(), 0, /*beside=*/bytes()});
  if (reading_) accounts.push_back({Use::kFetched, reading_->bytes(), ByteBudget::Kind::kEntries, bytes()});
  accounts.push_back({Use::kCaches, replay_->bytes(), ByteBudget::Kind::kEntries, bytes()});
  return {};
}

Result<EpochPlan> StreamRun::plan(int64_t, int64_t, int64_t, int64_t) const {
  return invalid_argument("plan(): of a stream only what has arrived is known");
}

std::shared_ptr<RunSamples> StreamRun::samples(const SampleLabels& labels) {
  return std::make_shared<Samples>(labels, shared_from_this());
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
    from.begun = ends.ok();
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

void StreamRun::save(Checkpoint& state) const {
  (void)flush_journal();
  state.stream = {stream_->log().partitions(), stream_->place(steps_->number_at(state.cursor))};
}

Result<Run::Resume> StreamRun::load(const Checkpoint& saved) {
  FOREBAY_ASSIGN(StreamPlace place, place_of(*saved.stream));
  return Resume([this, at = saved.cursor, place = std::move(place)] { resume_at(at, place); });
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
  end_journal();
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
  if (repeats_) return invalid_argument("this loader repeats a journal; it writes none");
  // Only rank 0 decides, and so knows all decisions.
  if (group_ && input_.rank_info.rank != 0) return {};
  const int64_t number = steps_->number_at(at);
  const std::shared_ptr<JournalWriter> before = journal();
  // The path may be that of the current journal: nothing may be written while it is opened anew.
  const int64_t out = stream_->set_observer(nullptr, 0);
  if (before) (void)before->flush();
  Result<std::shared_ptr<JournalWriter>> opened = JournalWriter::open(
      path, header_of(stream_->log(), stream_->options(), stream_->place(number)), stream_->log().partitions());
  if (!opened.ok()) {
    if (before) stream_->set_observer(before, out);
    return opened.status();
  }
  stream_->set_observer(*opened, number);
  const Lock lock(journal_mutex_);
  journal_ = std::move(*opened);
  return {};
}

std::shared_ptr<JournalWriter> StreamRun::journal() const {
  const Lock lock(journal_mutex_);
  return journal_;
}

// The next records belong to another place.
void StreamRun::end_journal() {
  stream_->set_observer(nullptr, 0);
  std::shared_ptr<JournalWriter> ended;
  {
    const Lock lock(journal_mutex_);
    ended.swap(journal_);
  }
  if (ended) (void)ended->flush();
}

void StreamRun::add_to(Ledger& ledger) const {
  const Stream::Stats stats = stream_->stats();
  StreamStats& out = ledger.stream.emplace();
  out.arrived = stats.arrived;
  out.trimmed = stats.trimmed;
  out.missing = stats.missing;
  out.reconnects = stats.reconnects;
  out.bytes = stats.bytes + replay_->bytes()->bytes();
  if (exchange_) {
    const RecordExchange::Stats replayed = exchange_->stats();
    out.old_lent = replayed.received;
    out.old_reread = replayed.reread;
    out.old_lost = replayed.lost;
  }
  if (reading_) {
    const RecordExchange::Stats rows = reading_->stats();
    out.from_ranks = rows.received;
    out.reread = rows.reread;
    out.bytes += reading_->bytes()->bytes();
  }
  out.disk_bytes = replay_->disk_bytes() + (stream_->options().spill ? stream_->options().spill->used() : 0);
  const std::vector<std::string>& partitions = stream_->log().partitions();
  for (size_t p = 0; p < partitions.size(); ++p)
    out.partitions.push_back({partitions[p], static_cast<int64_t>(stats.waiting[p]), stats.dropped[p]});
}

Status StreamRun::flush_journal() const {
  const std::shared_ptr<JournalWriter> now = journal();
  return now ? now->flush() : Status();
}

void StreamRun::release() {
  if (group_) group_->job()->close();
  stream_->drop_records();  // no step needs them any more
}

void StreamRun::stop() {
  closing_.request_stop();
  if (exchange_) exchange_->close();
  if (reading_) reading_->close();
  // Before the stream, so that calls that wait for rank 0 return.
  if (group_) group_->close();
  if (!stream_) return;  // opening it failed
  stream_->stop();
  (void)flush_journal();
}

}  // namespace forebay
