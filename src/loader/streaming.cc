#include "loader/streaming.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "loader/check.h"
#include "loader/open_job.h"
#include "loader/step_arguments.h"
#include "ops/definition/args.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr uint64_t kLateShare = 8, kNoteShare = 4;     // of a stream's memory, for ranks that are behind
constexpr std::chrono::seconds kBeginningPatience{5};  // of a rank that opens, for rank 0
constexpr int64_t kLargestChunk = int64_t{1} << 24;    // records that a state can have waited for

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
  options.bytes = default_bytes(given.memory);
  if (const OpSpec* const buffer = find_step(description, OpRole::kBuffer)) {
    const Args args(buffer->args, catalog().find(buffer->name)->args);
    options.policy = policy_of(args.text("policy"));
    if (args.has("bytes")) options.bytes = args.bytes("bytes");
    const std::string when_dry = args.text("when_dry");
    if (when_dry != "wait") options.when_dry = when_dry == "repeat" ? WhenDry::kRepeat : WhenDry::kRehearse;
  }
  const int64_t window = int_arg(find_step(description, OpRole::kOrder), "window", 0);
  options.shuffled = window > 0;
  // Without a window a chunk is a step over all ranks: order is decided for no more than is needed.
  options.chunk = static_cast<size_t>(window > 0 ? window : global_batch);
  const Json args = description.steps().front().args;
  options.skip_trimmed = args.value("on_trimmed", Json()) == Json("skip");
  options.from_now = args.value("start", Json()) == Json("now");
  return options;
}

// Old ones, beside those of the next steps.
bool keeps_records(const Description& description, const StreamOptions& options) {
  return options.when_dry != WhenDry::kWait || find_step(description, OpRole::kRehearse) != nullptr;
}

std::string policies_of(const OpSpec& buffer) {
  const Args args(buffer.args, catalog().find(buffer.name)->args);
  return args.text("policy") + ", " + args.text("when_dry");
}

struct DiskRoom {
  std::string folder;
  uint64_t bytes = uint64_t{10} << 30;
  bool asked_for = false;
};

// What .buffer() says of it.
DiskRoom disk_room(const Description& description) {
  std::error_code error;
  DiskRoom room{.folder = std::filesystem::temp_directory_path(error).string()};
  if (const OpSpec* const buffer = find_step(description, OpRole::kBuffer)) {
    const Args args(buffer->args, catalog().find(buffer->name)->args);
    room.bytes = args.bytes("disk");
    room.asked_for = args.has("dir");
    if (room.asked_for) room.folder = args.text("dir");
  }
  return room;
}

// Null where the system's folder takes nothing: then all stays in memory.
Result<std::shared_ptr<KeptDisk>> kept_disk(const Description& description) {
  const DiskRoom room = disk_room(description);
  Result<std::unique_ptr<KeptDisk>> disk = KeptDisk::open(room.folder, room.bytes);
  if (!disk.ok() && !room.asked_for) return std::shared_ptr<KeptDisk>();
  if (!disk.ok()) return disk.status();
  return std::shared_ptr<KeptDisk>(*std::move(disk));
}

Result<std::shared_ptr<SpillSpace>> spill_space(const Description& description, const RecordLog& log) {
  if (!log.records_are_whole())
    return invalid_argument(fmt::format(
        "policy=\"spill\": records of {} are objects of your program, which stay in its memory; give \"block\"",
        log.name()));
  const DiskRoom room = disk_room(description);
  return SpillSpace::open(room.folder, room.bytes);
}

Status check_options(const LoaderOptions& options) {
  if (options.on_error == OnError::kReplace)
    return invalid_argument("on_error=\"replace\": a stream has no other sample to take; give \"skip\" or \"raise\"");
  if (options.steps_per_epoch && *options.steps_per_epoch < 1)
    return invalid_argument(fmt::format("steps_per_epoch={} is not positive", *options.steps_per_epoch));
  if (options.epochs && !options.steps_per_epoch)
    return invalid_argument("epochs= of a stream needs steps_per_epoch=: it has no end of its own");
  return {};
}

}  // namespace

Result<std::shared_ptr<StreamRun>> StreamRun::open(const StreamSource& source, const Description& description,
                                                   const LoaderOptions& options, const Place& place) {
  FOREBAY_RETURN_IF_ERROR(check_options(options));
  const ScheduleOptions schedule = schedule_of(description, 0, place.world_size);
  FOREBAY_RETURN_IF_ERROR(schedule.check());
  std::shared_ptr<StreamRun> run(new StreamRun);
  run->rank_ = place.rank;
  StreamOptions stream = options_of(description, options, schedule.batch_size * schedule.world_size);
  std::shared_ptr<JournalReader> journal;
  if (!options.journal.empty()) {
    FOREBAY_ASSIGN(journal, JournalReader::open(options.journal, source.log()->partitions()));
    FOREBAY_RETURN_IF_ERROR(check_same_run(journal->header(), header_of(*source.log(), stream, {}), options.journal));
    // Which records a line means follows from how the run dropped others.
    if (journal->header().sampled != (stream.policy == BufferPolicy::kSample))
      stream.policy = journal->header().sampled ? BufferPolicy::kSample : BufferPolicy::kBlock;
  }
  if (stream.policy == BufferPolicy::kSpill) {
    FOREBAY_ASSIGN(stream.spill, spill_space(description, *source.log()));
  }
  if (!journal) FOREBAY_RETURN_IF_ERROR(run->join_job(options, place));
  run->share_reading(description, source.log(), stream);
  run->stream_ = std::make_shared<Stream>(run->reading_ ? run->reading_->log() : source.log(), stream);
  if (run->reading_) run->reading_->attach(run->stream_);
  run->beginning_ = journal ? journal->header().place : run->stream_->beginning();
  run->repeats_ = journal != nullptr;
  if (journal) run->stream_->set_guide(std::move(journal));
  if (run->decisions_)
    run->decisions_->lead_or_follow(*run->stream_, terms_of(*run->stream_, schedule, description, options));
  FOREBAY_RETURN_IF_ERROR(run->open_kept(description, source.log(), place));
  run->source_ = source.over(run->stream_, run->kept_);
  run->itinerary_ =
      std::make_shared<StreamItinerary>(run->stream_, StreamItineraryOptions{.batch_size = schedule.batch_size,
                                                                             .world_size = schedule.world_size,
                                                                             .rank = place.rank,
                                                                             .steps_per_epoch = options.steps_per_epoch,
                                                                             .epochs = options.epochs,
                                                                             .last = schedule.last});
  if (run->reading_) run->itinerary_->set_records(run->reading_);
  return run;
}

// A journal every rank reads by itself; otherwise the others follow rank 0.
Status StreamRun::join_job(const LoaderOptions& options, const Place& place) {
  if (place.world_size > 1 && !are_given(options.peers))
    return invalid_argument(
        fmt::format("the {} ranks of a stream must hear from rank 0 which records come next: give peers=, such as "
                    "\"launcher\" or a folder that they share",
                    place.world_size));
  const auto service = std::make_shared<StreamService>();
  FOREBAY_ASSIGN(std::shared_ptr<Job> job,
                 open_job(options.peers, place, {{std::string(kStreamServiceName), service}}, options.stop));
  if (job) decisions_ = std::make_shared<Decisions>(std::move(job), service);
  return {};
}

// What decides which rank has which record, how many steps there are, and what they give each other.
RunTerms StreamRun::terms_of(const Stream& stream, const ScheduleOptions& schedule, const Description& description,
                             const LoaderOptions& options) {
  const int64_t window = stream.options().shuffled ? static_cast<int64_t>(stream.options().chunk) : 0;
  const OpSpec* const buffer = find_step(description, OpRole::kBuffer);
  const OpSpec* const rehearse = find_step(description, OpRole::kRehearse);
  return {{{"seed", fmt::format("{}", options.seed)},
           {"batch size", fmt::format("{}", schedule.batch_size)},
           {"ranks", fmt::format("{}", schedule.world_size)},
           {"window", fmt::format("{}", window)},
           {"steps_per_epoch", fmt::format("{}", options.steps_per_epoch.value_or(0))},
           {"epochs", fmt::format("{}", options.epochs.value_or(0))},
           {"the stream", stream.log().identity()},
           {".buffer", buffer == nullptr ? "block, wait" : policies_of(*buffer)},
           {".rehearse", rehearse == nullptr ? "none" : rehearse->args.dump()}}};
}

// Where all ranks need all records each reads all: to keep old ones by what is in them, and to drop or spill what is too much.
void StreamRun::share_reading(const Description& description, const std::shared_ptr<const RecordLog>& log,
                              const StreamOptions& options) {
  const bool keeps = keeps_records(description, options);
  if (!decisions_ || keeps || options.policy != BufferPolicy::kBlock || !log->is_served()) return;
  reading_ = std::make_shared<DealtReading>(
      log, decisions_, RecordShelf::Limits{options.bytes / kLateShare, options.bytes / kNoteShare});
}

// Records of a program's own are in its objects: each rank has all of them. The same where a journal is repeated by ranks that do not speak with each other.
Status StreamRun::open_kept(const Description& description, std::shared_ptr<const RecordLog> log, const Place& place) {
  const bool keeps = keeps_records(description, stream_->options());
  KeptOptions options{.memory_bytes = bytes()};
  if (keeps && log->records_are_whole()) {
    FOREBAY_ASSIGN(options.disk, kept_disk(description));
    if (decisions_) options.share = {place.rank, place.world_size};
  }
  const bool brings = options.disk || options.share.ranks > 1;
  kept_ = std::make_shared<KeptRecords>(std::move(log), std::move(options));
  if (!brings) return {};
  if (decisions_) decisions_->lend(kept_);
  using Items = Result<std::vector<ResponseItem>>;
  exchange_ = std::make_unique<RecordExchange>(
      kept_, [ranks = decisions_.get()](int rank, std::span<const int64_t> numbers, const std::stop_token& stop) {
        return ranks != nullptr ? ranks->ask_for_records(rank, numbers, stop) : Items(unavailable("there is one rank"));
      });
  return {};
}

void StreamRun::on_arrival(std::function<void()> arrived) {
  if (exchange_) exchange_->on_arrival(arrived);
  if (reading_) reading_->on_arrival(arrived);
  stream_->on_arrival(std::move(arrived));
}

void StreamRun::bring(std::span<const int64_t> numbers) {
  if (exchange_) exchange_->bring(kept_->borrow(numbers));
}

Result<bool> StreamRun::here(std::span<const int64_t> numbers) const {
  if (!exchange_ || kept_->here(numbers)) return true;
  FOREBAY_RETURN_IF_ERROR(exchange_->failure());
  return false;
}

JournalHeader StreamRun::header_of(const RecordLog& log, const StreamOptions& options, StreamPlace place) {
  return {.log = log.identity(),
          .seed = options.seed,
          .shuffled = options.shuffled,
          .sampled = options.policy == BufferPolicy::kSample,
          .when_dry = options.when_dry,
          .place = std::move(place)};
}

Status StreamRun::check_same_run(const JournalHeader& was, const JournalHeader& now, const std::string& path) {
  std::string differs;
  if (was.log != now.log) differs += ", the stream";
  if (was.seed != now.seed) differs += ", the seed";
  if (was.shuffled != now.shuffled) differs += ", .shuffle()";
  if (was.when_dry != now.when_dry) differs += ", .buffer(when_dry=)";
  if (differs.empty()) return {};
  return Status(Code::kStateMismatch,
                fmt::format("{} was written with something else: {} differ(s)", path, differs.substr(2)));
}

std::shared_ptr<StepSource> StreamRun::itinerary() const { return itinerary_; }

// What comes from here on is the run's, also where it goes on from a state that was made before its first batch. Where the log cannot be asked,
// whoever reads it asks again.
void StreamRun::begin() {
  StreamPlace from = beginning_;
  const bool decides = !repeats_ && (!decisions_ || rank_ == 0);
  if (stream_->options().from_now && decides) {
    Result<std::vector<std::string>> ends = stream_->log().ends(closing_.get_token());
    from.begun = ends.ok();
    if (ends.ok()) from.after = std::move(*ends);
  }
  go_on({}, std::move(from));
  // A state that is made before the first batch is the same on all ranks.
  if (stream_->options().from_now && decisions_ && !decides &&
      !stream_->await_beginning(kBeginningPatience, closing_.get_token()))
    log_warning(
        "rank 0 has not said where the stream begins: a state of this rank that is made before the first batch goes "
        "on with what comes after it was loaded");
}

void StreamRun::stands_at(const Cursor& at) { stream_->behind(itinerary_->number_at(at)); }

std::string StreamRun::place(const Cursor& at) const {
  return stream_->place(itinerary_->number_at(at)).to_json(stream_->log().partitions());
}

Result<StreamPlace> StreamRun::read_place(const std::string& json) const {
  FOREBAY_ASSIGN(StreamPlace place, StreamPlace::from_json(json, stream_->log().partitions()));
  if (place.chunk && place.chunk->size() > kLargestChunk)
    return invalid_argument(fmt::format("this state stands in a window of {} records, and {} are the most",
                                        place.chunk->size(), kLargestChunk));
  if (place.chunk && place.chunk->dry == 0 && place.sampled != (stream_->options().policy == BufferPolicy::kSample))
    return Status(
        Code::kStateMismatch,
        fmt::format("the state stands in a window that was {}sampled; go on with the same .buffer() to its end",
                    place.sampled ? "" : "not "));
  for (const std::string& offset : place.after) {
    if (!offset.empty()) FOREBAY_RETURN_IF_ERROR(stream_->log().check_offset(offset));
  }
  return place;
}

std::pair<int64_t, int64_t> StreamRun::numbers_of(const StepPlan& step) const {
  const int64_t from = itinerary_->number_at(step.at);
  return {from, from + itinerary_->size_at(from)};
}

Status StreamRun::read_kept_places(const std::string& json) { return kept_->read_places(json); }

void StreamRun::go_on(const Cursor& at, StreamPlace place) {
  // Where a batch of another size ended among numbers without records, the rest of these is not missed.
  if (place.chunk && place.chunk->dry > 0) {
    place.number = place.chunk->first + place.chunk->dry;
    place.chunk.reset();
  }
  const int64_t number = place.number;
  end_journal();
  // What is read now is of the old place, and must not be told as if it were of the new one.
  if (reading_) stream_->stop();
  if (decisions_) decisions_->begin_anew();
  if (reading_) reading_->begin_anew();
  if (exchange_) exchange_->begin_anew();
  kept_->begin(number);
  stream_->seek(std::move(place));
  itinerary_->stand(at, number);
}

Status StreamRun::write_journal(const std::string& path, const Cursor& at) {
  if (repeats_) return invalid_argument("this loader repeats a journal; it writes none");
  // Rank 0 decides, and is the one that knows all of it.
  if (decisions_ && rank_ != 0) return {};
  const int64_t number = itinerary_->number_at(at);
  const std::shared_ptr<JournalWriter> before = journal();
  // It may be the same file: nothing is written to it any more while that is opened anew.
  const int64_t told = stream_->set_witness(nullptr, 0);
  if (before) (void)before->flush();
  Result<std::shared_ptr<JournalWriter>> opened = JournalWriter::open(
      path, header_of(stream_->log(), stream_->options(), stream_->place(number)), stream_->log().partitions());
  if (!opened.ok()) {
    if (before) stream_->set_witness(before, told);
    return opened.status();
  }
  stream_->set_witness(*opened, number);
  const std::lock_guard lock(journal_mutex_);
  journal_ = std::move(*opened);
  return {};
}

std::shared_ptr<JournalWriter> StreamRun::journal() const {
  const std::lock_guard lock(journal_mutex_);
  return journal_;
}

// What comes next is of another place.
void StreamRun::end_journal() {
  stream_->set_witness(nullptr, 0);
  std::shared_ptr<JournalWriter> ended;
  {
    const std::lock_guard lock(journal_mutex_);
    ended.swap(journal_);
  }
  if (ended) (void)ended->flush();
}

void StreamRun::add_to(Ledger& ledger) const {
  const Stream::Stats stats = stream_->stats();
  StreamStats& told = ledger.stream.emplace();
  told.arrived = stats.arrived;
  told.trimmed = stats.trimmed;
  told.dry = stats.dry;
  told.reconnects = stats.reconnects;
  told.bytes = stats.bytes + kept_->bytes()->bytes();
  if (exchange_) {
    const RecordExchange::Stats old = exchange_->stats();
    told.old_lent = old.lent;
    told.old_reread = old.reread;
    told.old_lost = old.lost;
  }
  if (reading_) {
    const RecordExchange::Stats rows = reading_->stats();
    told.from_ranks = rows.lent;
    told.reread = rows.reread;
    told.bytes += reading_->bytes()->bytes();
  }
  told.disk_bytes = kept_->disk_bytes() + (stream_->options().spill ? stream_->options().spill->used() : 0);
  const std::vector<std::string>& partitions = stream_->log().partitions();
  for (size_t p = 0; p < partitions.size(); ++p)
    told.partitions.push_back({partitions[p], static_cast<int64_t>(stats.waiting[p]), stats.dropped[p]});
}

Status StreamRun::flush_journal() {
  const std::shared_ptr<JournalWriter> now = journal();
  return now ? now->flush() : Status();
}

void StreamRun::drop_records() {
  if (stream_) stream_->drop_records();
}

void StreamRun::close() {
  closing_.request_stop();
  if (exchange_) exchange_->close();
  if (reading_) reading_->close();
  // First of the stream: what waits for rank 0 comes back.
  if (decisions_) decisions_->close();
  if (!stream_) return;  // opening it failed
  stream_->stop();
  (void)flush_journal();
}

}  // namespace forebay
