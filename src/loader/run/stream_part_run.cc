#include "loader/run/stream_part_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/materialized_steps.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/samples/first_share.h"
#include "loader/samples/part_progress.h"

namespace forebay {

namespace {

const StreamSource* as_stream(const Source& source) { return dynamic_cast<const StreamSource*>(&source); }

// Identifies the steps of a run. Ranks with other ones would wait for other records.
std::string steps_of(const RunInput& input, const Source& source) {
  const std::string epochs = input.options.epochs ? fmt::format("{}", *input.options.epochs) : "all";
  return fmt::format("{} in {} epochs", fingerprint_of(input.description(), source).to_string(), epochs);
}

}  // namespace

std::optional<size_t> StreamPartRun::leaf_of(const Source& source) {
  const PartedSource* const parts = as_parted(source);
  if (parts == nullptr) return std::nullopt;
  const auto& sources = parts->branch_sources();
  const auto stream = std::ranges::find_if(sources, [](const auto& one) { return as_stream(*one) != nullptr; });
  if (stream == sources.end()) return std::nullopt;
  return static_cast<size_t>(stream - sources.begin());
}

// The ranks speak about the stream alone: its run has the connection and the journal.
Result<std::shared_ptr<StreamPartRun::Inputs>> StreamPartRun::inputs_of(const RunInput& input, const Branch& branch) {
  if (input.options.stream.steps_per_epoch)
    return invalid_argument(
        "steps_per_epoch= is for a stream by itself; the epochs of parts have their length: give the mix samples=");
  auto inputs = std::make_shared<Inputs>(Inputs{input, input});
  inputs->parts.options.job.peers = {};
  inputs->parts.options.stream = {};
  inputs->stream.pipeline = Pipeline(std::make_shared<const Description>(branch.description));
  inputs->stream.options.epochs.reset();
  return inputs;
}

Result<std::shared_ptr<StreamPartRun>> StreamPartRun::open(const RunInput& input, const Source& source, size_t leaf) {
  const PartedSource& parts = *as_parted(source);
  const Branch branch = branches_of(input.description())[leaf];
  FOREBAY_ASSIGN(const std::shared_ptr<Inputs> inputs, inputs_of(input, branch));
  FOREBAY_ASSIGN(
      std::shared_ptr<StreamRun> stream,
      StreamRun::open(inputs->stream, *as_stream(*parts.branch_sources()[leaf]),
                      {.share = first_share(input.description(), branch.path), .steps = steps_of(input, source)}));
  inputs->stream.options.job.peers.gather = {};  // it is called only once
  FOREBAY_ASSIGN(std::shared_ptr<DataSetRun> whole,
                 DataSetRun::open(inputs->parts, parts.with_branch(leaf, stream->source())));
  return std::shared_ptr<StreamPartRun>(
      new StreamPartRun(inputs, std::move(whole), std::move(stream), branch.name(), leaf));
}

StreamPartRun::StreamPartRun(std::shared_ptr<const Inputs> inputs, std::shared_ptr<DataSetRun> parts,
                             std::shared_ptr<StreamRun> stream, std::string name, size_t leaf)
    : RunDecorator(parts), inputs_(std::move(inputs)), parts_(std::move(parts)), stream_(std::move(stream)),
      name_(std::move(name)), leaf_(leaf) {}

Status StreamPartRun::open_steps(RunSetup& setup) {
  FOREBAY_RETURN_IF_ERROR(parts_->open_steps(setup));
  stream_->add_accounts(setup.runner.memory.accounts);
  const RankInfo& rank = inputs_->parts.rank_info;
  steps_ = std::make_shared<StreamPartSteps>(
      parts_->planned_steps(),
      StreamPartSteps::Part{leaf_, stream_->stream(), stream_->itinerary(), stream_->remote_records()},
      schedule_of(inputs_->parts.description(), 0, rank.world_size), rank.rank);
  return {};
}

void StreamPartRun::begin(const std::shared_ptr<Runner>& runner) {
  parts_->begin(runner);
  stream_->begin(runner);
  parts_->tell_ranks(stream_->job());
}

void StreamPartRun::advanced_to(const Cursor& at) {
  parts_->advanced_to(at);
  stream_->advanced_to(steps_->stream_place(at));
  at_ = at;
}

Result<Run::Resume> StreamPartRun::change(const PlanEdit& edit, const Cursor& at) {
  FOREBAY_ASSIGN(Resume resume, parts_->change(edit, at));
  if (resume) steps_->begin_again();
  return resume;
}

// The state of the stream's own run.
Checkpoint StreamPartRun::stream_state(const Checkpoint& state) const {
  Checkpoint own = state;
  own.cursor = steps_->stream_place(state.cursor);
  return own;
}

Result<Checkpoint> StreamPartRun::with_changed_parts(const Checkpoint& saved) const {
  FOREBAY_ASSIGN(Checkpoint state, parts_->with_changed_parts(saved));
  Checkpoint here;
  here.cursor = steps_->stream_place(at_);
  stream_->save(here);
  state.stream = saved.stream && find_part(saved.parts, name_) != nullptr ? saved.stream : here.stream;
  return state;
}

void StreamPartRun::save(Checkpoint& state) const {
  parts_->save(state);
  Checkpoint own = stream_state(state);
  stream_->save(own);
  state.stream = std::move(own.stream);
}

Result<Run::Resume> StreamPartRun::load(const Checkpoint& saved) {
  // The place of the stream is checked first, since the other run takes up changes at once.
  FOREBAY_RETURN_IF_ERROR(stream_->load(saved).status());
  FOREBAY_ASSIGN(Resume parts, parts_->load(saved));
  Result<Resume> stream = stream_->load(stream_state(saved));
  if (!stream.ok()) {
    parts();
    return stream.status();
  }
  return Resume([this, at = saved.cursor, parts = std::move(parts), stream = *std::move(stream)] {
    parts();
    steps_->begin_again();
    stream();
    at_ = at;
  });
}

void StreamPartRun::pause() {
  parts_->pause();
  stream_->pause();
}

Status StreamPartRun::write_journal(const std::string& path, const Cursor& at) {
  return stream_->write_journal(path, steps_->stream_place(at));
}

void StreamPartRun::add_to(Ledger& ledger) const {
  parts_->add_to(ledger);
  stream_->add_to(ledger);
}

void StreamPartRun::stop() {
  stream_->stop();
  parts_->stop();
}

void StreamPartRun::release() {
  parts_->release();
  stream_->release();
}

}  // namespace forebay
