#include "loader/run/replay_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cache/budget_limits.h"
#include "loader/compile/open_step_cache.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "loader/describe/step_arguments.h"
#include "loader/run/sample_labels.h"
#include "ops/definition/args.h"
#include "pipeline/cache_rules.h"

namespace forebay {

namespace {

constexpr uint64_t kUsualBytes = uint64_t{2} << 30;  // as for a .cache()

// Reduces the buffer of a run with another capacity to its latest `capacity` samples, oldest first.
void keep_latest(Rehearsal::Class& kept, int64_t capacity) {
  std::rotate(kept.kept.begin(), kept.kept.begin() + kept.next, kept.kept.end());
  const auto size = static_cast<int64_t>(kept.kept.size());
  if (size > capacity) kept.kept.erase(kept.kept.begin(), kept.kept.end() - capacity);
  kept.next = 0;
}

// Reads the epoch of each sample. Returns false if the JSON is not a list of that many epochs.
bool read_epochs(const nlohmann::ordered_json& epochs, std::vector<ReplaySample>& kept) {
  if (!epochs.is_array() || epochs.size() != kept.size()) return false;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!epochs[i].is_number_integer() || epochs[i].template get<int64_t>() < 0) return false;
    kept[i].epoch = epochs[i].template get<int64_t>();
  }
  return true;
}

struct SaidReplay {
  RehearsalOptions options;
  int64_t replayed = 0;  // replayed samples in each step of each rank
  std::string by;
};

// The replay buffer of .buffer(on_underrun="repeat"): the latest records, as many as one step has.
SaidReplay repeated(const RunInput& input) {
  const ScheduleOptions schedule = schedule_of(input.description(), 0, input.place.world_size);
  return {.options = {.seed = input.options.seed,
                      .policy = RehearsalPolicy::kRecent,
                      .capacity = schedule.batch_size * schedule.world_size,
                      .draws = 0,
                      .candidates = {}}};
}

SaidReplay said_of(const RunInput& input) {
  const OpSpec* const step = find_step(input.description(), OpRole::kRehearse);
  if (step == nullptr) return repeated(input);
  const Args args(step->args, catalog().find(step->name)->args);
  const std::string policy = args.text("policy");
  SaidReplay said;
  said.replayed = args.integer("n");
  said.by = args.text("by");
  said.options = {.seed = input.options.seed,
                  .policy = policy == "balanced" ? RehearsalPolicy::kBalanced
                            : policy == "recent" ? RehearsalPolicy::kRecent
                                                 : RehearsalPolicy::kReservoir,
                  .capacity = args.integer("capacity"),
                  // Drawn for all ranks at once. Each takes its part, so no two share a sample.
                  .draws = said.replayed * input.place.world_size};
  if (args.has("candidates")) said.options.candidates = args.integer("candidates");
  return said;
}

// Opens the store of results for where="here"; null for any other `where`, and without a rehearsal.
// `memory` is the limit that the user set, of which the store is a part.
std::shared_ptr<ReplayRows> open_results(const Description& description, std::optional<uint64_t> memory) {
  const OpSpec* const step = find_step(description, OpRole::kRehearse);
  if (step == nullptr || !rehearses_here(*step, catalog())) return nullptr;
  const Args args(step->args, catalog().find(step->name)->args);
  const uint64_t said = args.has("ram") ? args.bytes("ram") : kUsualBytes;
  return std::make_shared<ReplayRows>(std::min({said, memory_limit(), cached_at_most(memory)}));
}

std::vector<int64_t> ids_of(const Rehearsal& rehearsal) {
  std::vector<int64_t> ids;
  for (const ReplaySample& sample : rehearsal.all()) ids.push_back(sample.id);
  return ids;
}

Status unusable_replay() { return invalid_argument("this state has no usable \"rehearsal\""); }

// Parses one class of a state, which is an untrusted text; `next` is an index into the samples.
// Returns nothing if it is malformed.
std::optional<Rehearsal::Class> read_class(const nlohmann::ordered_json& one) {
  const bool good = one.is_array() && (one.size() == 5 || one.size() == 6) && one[0].is_number_integer() &&
                    one[1].is_number_integer() && one[2].is_boolean() && one[3].is_number_integer() &&
                    one[4].is_array();
  if (!good) return std::nullopt;
  Rehearsal::Class kept{
      one[1].template get<int64_t>(), one[2].template get<bool>(), {}, one[3].template get<int64_t>()};
  for (const auto& id : one[4]) {
    if (!id.is_number_integer() || id.template get<int64_t>() < 0) return std::nullopt;
    kept.kept.push_back({.id = id.template get<int64_t>()});
  }
  if (one.size() == 6 && !read_epochs(one[5], kept.kept)) return std::nullopt;
  const auto size = static_cast<int64_t>(kept.kept.size());
  if (kept.seen < size || kept.next < 0 || kept.next > std::max<int64_t>(size - 1, 0)) return std::nullopt;
  return kept;
}

}  // namespace

Result<std::shared_ptr<ReplayRun>> ReplayRun::open(const RunInput& input, std::shared_ptr<Run> run) {
  std::shared_ptr<ReplayRun> replay(new ReplayRun(input, std::move(run)));
  SaidReplay said = said_of(input);
  replay->options_ = said.options;
  replay->replayed_ = said.replayed;
  replay->by_ = std::move(said.by);
  FOREBAY_ASSIGN(replay->read_field_, SampleLabels::field_to_read(replay->by_, *replay->source()));
  replay->results_ = open_results(input.description(), input.sizes.memory);
  return replay;
}

Status ReplayRun::choose(RunSetup& setup) {
  if (results_) setup.compile.replayed = {results_, std::make_shared<ReplayKeys>(results_)};
  return run_->choose(setup);
}

Status ReplayRun::order(RunSetup& setup) {
  FOREBAY_RETURN_IF_ERROR(run_->order(setup));
  setup.sizes.replayed_rows = replayed_;
  if (results_) setup.sizes.caches += results_->most_bytes();
  if (!read_field_.empty()) setup.sizes.classes = SampleClasses::expected_bytes(setup.compile.selection->size());
  return {};
}

Status ReplayRun::open_steps(RunSetup& setup) {
  FOREBAY_RETURN_IF_ERROR(run_->open_steps(setup));
  if (results_)
    setup.runner.accounts.push_back({Use::kCaches, results_, ByteBudget::Kind::kEntries, results_->most_bytes()});
  SampleLabels labels;
  if (!read_field_.empty()) {
    FOREBAY_ASSIGN(classes_, read_classes(setup.compile, read_field_, input_.sizes, setup.watch));
    setup.runner.index_bytes = source()->index_bytes() + classes_->bytes();
    labels = SampleLabels::of_classes(classes_);
  } else {
    const bool user_code = is_source(input_.description().steps().front(), SourceKind::kUserCode);
    FOREBAY_ASSIGN(labels, SampleLabels::of_field(by_, source()->schema(), user_code));
  }
  samples_ = run_->samples(labels);
  steps_ = std::make_shared<ReplaySteps>(run_->steps(), samples_, options_, replayed_, input_.place.rank, results_);
  return begin_with_given();
}

// Starts with the replay buffer of an earlier loader, if the options have one.
Status ReplayRun::begin_with_given() {
  if (input_.options.rehearsal.empty()) return {};
  FOREBAY_ASSIGN(const Checkpoint before, Checkpoint::from_json(input_.options.rehearsal));
  if (before.rehearsal.empty())
    return invalid_argument("rehearsal=: this state keeps nothing: its pipeline has no .rehearse()");
  FOREBAY_ASSIGN(Rehearsal kept, from_json(before.rehearsal));
  FOREBAY_RETURN_IF_ERROR(samples_->check_before(ids_of(kept)));
  steps_->begin_with(std::move(kept));
  return {};
}

void ReplayRun::stands_at(const Cursor& at) {
  steps_->delivered(at);
  run_->stands_at(at);
}

void ReplayRun::save(Checkpoint& state) const {
  run_->save(state);
  state.rehearsal = to_json(steps_->buffer());
}

Result<Run::GoOn> ReplayRun::load(const Checkpoint& saved) {
  FOREBAY_ASSIGN(GoOn go_on, run_->load(saved));
  Rehearsal kept(options_);
  if (!saved.rehearsal.empty()) {
    FOREBAY_ASSIGN(kept, from_json(saved.rehearsal));
  }
  return GoOn([steps = steps_, kept = std::move(kept), go_on = std::move(go_on)] {
    steps->begin_with(kept);
    go_on();
  });
}

void ReplayRun::pause() {
  run_->pause();
  steps_->pause();
}

void ReplayRun::go_elsewhere() {
  steps_->begin_elsewhere();
  run_->go_elsewhere();
}

void ReplayRun::add_to(Ledger& ledger) const {
  run_->add_to(ledger);
  if (results_) ledger.rehearsal = results_->stats();
  if (classes_) ledger.index_bytes += classes_->bytes();
}

std::string ReplayRun::to_json(const Rehearsal& kept) const {
  nlohmann::ordered_json json = {{"source", source()->version().to_string()},
                                 {"classes", nlohmann::ordered_json::array()}};
  for (const auto& [label, one] : kept.classes()) {
    std::vector<int64_t> of_class, epochs;
    for (const ReplaySample& sample : one.kept) {
      of_class.push_back(sample.id);
      epochs.push_back(sample.epoch);
    }
    json["classes"].push_back({label, one.seen, one.largest_once, one.next, of_class});
    if (results_) json["classes"].back().push_back(epochs);  // needed only to find results
  }
  const std::string places = samples_->places(ids_of(kept));
  if (!places.empty()) json["places"] = nlohmann::ordered_json::parse(places);
  return json.dump();
}

// StateMismatch if the buffer is of another data set. InvalidArgument if the text is malformed, or
// if it has more samples than the capacity.
Result<Rehearsal> ReplayRun::from_json(const std::string& text) const {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("classes") || !json["classes"].is_array()) return unusable_replay();
  if (json.value("source", nlohmann::ordered_json()) != source()->version().to_string())
    return Status(Code::kStateMismatch, "the kept samples are of another data set");
  std::map<int64_t, Rehearsal::Class> classes;
  int64_t all = 0;
  for (const auto& one : json["classes"]) {
    std::optional<Rehearsal::Class> kept = read_class(one);
    if (!kept) return unusable_replay();
    const auto size = static_cast<int64_t>(kept->kept.size());
    all += size;
    // A repeated buffer has the size of one step, and a run may resume with another batch size.
    const bool other_size = size > options_.capacity || (size < options_.capacity && kept->next > 0);
    if (options_.draws == 0 && other_size) keep_latest(*kept, options_.capacity);
    if (static_cast<int64_t>(kept->kept.size()) > options_.capacity) return unusable_replay();
    classes.emplace(one[0].template get<int64_t>(), *std::move(kept));
  }
  if (options_.policy == RehearsalPolicy::kBalanced && all > options_.capacity) return unusable_replay();
  Rehearsal rehearsal(options_);
  rehearsal.restore(std::move(classes));
  const auto places = json.value("places", nlohmann::ordered_json::array());
  FOREBAY_RETURN_IF_ERROR(samples_->find(ids_of(rehearsal), places.dump()));
  return rehearsal;
}

}  // namespace forebay
