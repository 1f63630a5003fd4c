#include "loader/run/stream_part_run.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "loader/describe/check.h"
#include "loader/describe/materialized_steps.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/peers/open_stream_groups.h"
#include "loader/run/indexed_samples.h"
#include "loader/run/stream_settings.h"
#include "loader/samples/first_share.h"
#include "loader/samples/part_progress.h"
#include "store/percent.h"

namespace forebay {

namespace {

const StreamSource* as_stream(const Source& source) { return dynamic_cast<const StreamSource*>(&source); }

// Identifies the steps of a run. Ranks with other ones would wait for other records.
RunTerms::Term term_of_parts(const RunInput& input, const Source& source) {
  const std::string epochs = input.options.epochs ? fmt::format("{}", *input.options.epochs) : "all";
  return {"the parts", fmt::format("{} in {} epochs", fingerprint_of(input.description(), source).to_string(), epochs),
          "give all ranks the same parts, weights, steps and epochs="};
}

// The journal of one of several streams: a file in the folder at `path`.
std::string journal_in(const std::string& path, const std::string& part) {
  return fmt::format("{}/{}.journal", path, percent_encode(part));
}

// Makes the folder of the journals if there is none.
Status make_journal_folder(const std::string& path) {
  std::error_code error, ignored;
  std::filesystem::create_directory(path, error);
  if (std::filesystem::is_directory(path, ignored)) return {};
  return invalid_argument(fmt::format(
      "journal(): {} is no folder and cannot become one ({}); several streams have a journal each, in a folder", path,
      error ? error.message() : "there is a file of that name"));
}

// Adds the figures of a stream to those of all streams.
void add_stream(StreamStats one, const std::string& part, StreamStats& all) {
  all.arrived += one.arrived;
  all.trimmed += one.trimmed;
  all.missing += one.missing;
  all.from_ranks += one.from_ranks;
  all.reread += one.reread;
  all.old_lent += one.old_lent;
  all.old_reread += one.old_reread;
  all.old_lost += one.old_lost;
  all.reconnects += one.reconnects;
  all.bytes += one.bytes;
  all.disk_bytes += one.disk_bytes;
  for (PartitionStats& partition : one.partitions) {
    // Partitions of two streams may have the same name.
    partition.name = partition.name.empty() ? part : part + "/" + partition.name;
    all.partitions.push_back(std::move(partition));
  }
}

// The place of a stream in a state of other parts; null if it was no stream there.
const StreamState* saved_place(const Checkpoint& saved, const std::string& path, const Source& stream) {
  const SavedPart* const part = find_part(saved.parts, path);
  if (part == nullptr || part->samples != stream.size()) return nullptr;
  const auto found = saved.streams.find(path);
  return found != saved.streams.end() ? &found->second : nullptr;
}

}  // namespace

std::vector<size_t> StreamPartRun::leaves_of(const Source& source) {
  std::vector<size_t> leaves;
  const PartedSource* const parts = as_parted(source);
  for (size_t leaf = 0; parts != nullptr && leaf < parts->branch_sources().size(); ++leaf)
    if (as_stream(*parts->branch_sources()[leaf]) != nullptr) leaves.push_back(leaf);
  return leaves;
}

// The ranks speak about the streams alone, whose runs have the connections and the journals.
std::shared_ptr<StreamPartRun::Inputs> StreamPartRun::inputs_of(const RunInput& input,
                                                                const std::vector<Branch>& streams) {
  auto inputs = std::make_shared<Inputs>(Inputs{input, {}});
  inputs->parts.options.job.peers = {};
  inputs->parts.options.stream = {};
  for (const Branch& branch : streams) {
    RunInput& stream = inputs->streams.emplace_back(input);
    stream.pipeline = Pipeline(std::make_shared<const Description>(branch.description));
    stream.options.epochs.reset();
    stream.options.job.peers = {};
    // The streams divide the memory that one would have.
    if (stream.options.resources.memory) *stream.options.resources.memory /= streams.size();
    std::string& journal = stream.options.stream.journal;
    if (streams.size() > 1 && !journal.empty()) journal = journal_in(journal, branch.name());
  }
  return inputs;
}

Result<std::shared_ptr<StreamPartRun>> StreamPartRun::open(const RunInput& input, const Source& source,
                                                           const std::vector<size_t>& leaves) {
  if (input.options.stream.steps_per_epoch)
    return invalid_argument(
        "steps_per_epoch= is for a stream by itself; the epochs of parts have their length: give the mix samples=");
  const std::vector<Branch> all = branches_of(input.description());
  std::vector<Branch> branches;
  for (const size_t leaf : leaves) branches.push_back(all[leaf]);
  const std::shared_ptr<Inputs> inputs = inputs_of(input, branches);
  // Wrong options are reported before the ranks meet.
  for (const RunInput& stream : inputs->streams) FOREBAY_RETURN_IF_ERROR(check_stream_options(stream.options));
  FOREBAY_ASSIGN(const auto groups, open_stream_groups(input.options, input.rank_info, leaves.size()));
  const PartedSource& opened = *as_parted(source);
  std::shared_ptr<const PartedSource> parts;
  std::vector<StreamLeaf> streams;
  std::vector<std::vector<RunTerms::Term>> settings;
  // The replay buffer has samples of all parts.
  const bool retains =
      std::ranges::any_of(branches, [](const Branch& branch) { return retains_records(branch.description); });
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Branch& branch = branches[i];
    FOREBAY_ASSIGN(
        std::shared_ptr<StreamRun> stream,
        StreamRun::open_part(inputs->streams[i], *as_stream(*opened.branch_sources()[leaves[i]]),
                             {first_share(input.description(), branch.path), branch.name(), groups[i], retains}));
    parts = (parts ? *parts : opened).with_branch(leaves[i], stream->source());
    settings.push_back(stream->settings());
    streams.push_back({leaves[i], branch.name(), std::move(stream)});
  }
  const std::shared_ptr<Job> job = groups.front() ? groups.front()->job() : nullptr;
  if (job) {
    settings.push_back({term_of_parts(input, source)});
    job->set_run(stream_terms(inputs->streams.front(), settings));
  }
  FOREBAY_ASSIGN(std::shared_ptr<DataSetRun> whole, DataSetRun::open(inputs->parts, std::move(parts)));
  return std::shared_ptr<StreamPartRun>(new StreamPartRun(inputs, std::move(whole), std::move(streams), job));
}

StreamPartRun::StreamPartRun(std::shared_ptr<const Inputs> inputs, std::shared_ptr<DataSetRun> parts,
                             std::vector<StreamLeaf> streams, std::shared_ptr<Job> job)
    : RunDecorator(parts), inputs_(std::move(inputs)), parts_(std::move(parts)), streams_(std::move(streams)),
      job_(std::move(job)) {}

bool StreamPartRun::repeats() const {
  return std::ranges::any_of(streams_, [](const StreamLeaf& stream) { return stream.run->repeats(); });
}

Status StreamPartRun::open_steps(RunSetup& setup) {
  FOREBAY_RETURN_IF_ERROR(parts_->open_steps(setup));
  std::vector<StreamPartSteps::Part> parts;
  for (const StreamLeaf& stream : streams_) {
    stream.run->add_accounts(setup.runner.memory.accounts);
    parts.push_back({stream.leaf, stream.run->stream(), stream.run->itinerary(), stream.run->remote_records()});
  }
  const RankInfo& rank = inputs_->parts.rank_info;
  steps_ = std::make_shared<StreamPartSteps>(parts_->planned_steps(), std::move(parts),
                                             schedule_of(inputs_->parts.description(), 0, rank.world_size), rank.rank);
  return {};
}

void StreamPartRun::begin(const std::shared_ptr<Runner>& runner) {
  parts_->begin(runner);
  for (const StreamLeaf& stream : streams_) stream.run->begin(runner);
  parts_->tell_ranks(job_);
}

std::shared_ptr<RunSamples> StreamPartRun::samples(std::vector<SampleLabels> labels) {
  std::vector<std::shared_ptr<ReplayBranch>> branches;
  for (SampleLabels& one : labels) {
    const auto stream = std::ranges::find(streams_, branches.size(), &StreamLeaf::leaf);
    branches.push_back(stream != streams_.end() ? stream->run->replayed(std::move(one))
                                                : parts_->replayed(branches.size(), std::move(one)));
  }
  return std::make_shared<IndexedSamples>(std::move(branches), parts_->planned_steps());
}

void StreamPartRun::advanced_to(const Cursor& at) {
  parts_->advanced_to(at);
  for (const StreamLeaf& stream : streams_) stream.run->advanced_to(steps_->stream_place(stream.leaf, at));
  at_ = at;
}

Result<Run::Resume> StreamPartRun::change(const PlanEdit& edit, const Cursor& at) {
  FOREBAY_ASSIGN(Resume resume, parts_->change(edit, at));
  if (resume) steps_->begin_again();
  return resume;
}

StreamState StreamPartRun::state_of(const StreamLeaf& stream, const Cursor& at) const {
  return stream.run->state_at(steps_->stream_place(stream.leaf, at));
}

Result<Checkpoint> StreamPartRun::with_changed_parts(const Checkpoint& saved) const {
  FOREBAY_ASSIGN(Checkpoint state, parts_->with_changed_parts(saved));
  for (const StreamLeaf& stream : streams_) {
    const StreamState* const before = saved_place(saved, stream.path, *stream.run->source());
    state.streams[stream.path] = before != nullptr ? *before : state_of(stream, at_);
  }
  return state;
}

void StreamPartRun::save(Checkpoint& state) const {
  parts_->save(state);
  for (const StreamLeaf& stream : streams_) state.streams[stream.path] = state_of(stream, state.cursor);
}

Result<Run::Resume> StreamPartRun::load_streams(const Checkpoint& saved) const {
  std::vector<Resume> all;
  for (const StreamLeaf& stream : streams_) {
    FOREBAY_ASSIGN(const StreamState state, saved.stream_at(stream.path));
    const Cursor at = steps_->stream_place(stream.leaf, saved.cursor);
    FOREBAY_ASSIGN(all.emplace_back(), stream.run->load_at(at, state));
  }
  return Resume([all = std::move(all)] {
    for (const Resume& resume : all) resume();
  });
}

Result<Run::Resume> StreamPartRun::load(const Checkpoint& saved) {
  // The places of the streams are checked first, since the other run takes up changes at once.
  FOREBAY_RETURN_IF_ERROR(load_streams(saved).status());
  FOREBAY_ASSIGN(Resume parts, parts_->load(saved));
  Result<Resume> streams = load_streams(saved);
  if (!streams.ok()) {
    parts();
    return streams.status();
  }
  return Resume([this, at = saved.cursor, parts = std::move(parts), streams = *std::move(streams)] {
    streams();
    steps_->begin_again();
    parts();
    at_ = at;
  });
}

void StreamPartRun::pause() {
  parts_->pause();
  for (const StreamLeaf& stream : streams_) stream.run->pause();
}

Status StreamPartRun::write_journal(const std::string& path, const Cursor& at) {
  // All streams have the same rank, and either all repeat a journal or none does.
  FOREBAY_ASSIGN(const bool writes, streams_.front().run->may_write_journal());
  if (!writes) return {};
  const bool in_folder = streams_.size() > 1;
  if (in_folder) FOREBAY_RETURN_IF_ERROR(make_journal_folder(path));
  // After an error all previous journals go on.
  std::vector<std::unique_ptr<OpenedJournal>> journals;
  for (const StreamLeaf& stream : streams_) {
    FOREBAY_ASSIGN(journals.emplace_back(), stream.run->open_journal(in_folder ? journal_in(path, stream.path) : path,
                                                                     steps_->stream_place(stream.leaf, at)));
  }
  for (const auto& journal : journals) journal->start();
  return {};
}

void StreamPartRun::add_to(Ledger& ledger) const {
  parts_->add_to(ledger);
  StreamStats& all = ledger.stream.emplace();
  for (const StreamLeaf& stream : streams_) add_stream(stream.run->stats(), stream.path, all);
}

void StreamPartRun::stop() {
  // All streams say goodbye before one of them waits for other ranks, so that these waits overlap.
  for (const StreamLeaf& stream : streams_) stream.run->leave();
  for (const StreamLeaf& stream : streams_) stream.run->stop();
  parts_->stop();
}

void StreamPartRun::release() {
  parts_->release();
  for (const StreamLeaf& stream : streams_) stream.run->release();
}

}  // namespace forebay
