#include "loader/rehearsing.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/unit_source.h"
#include "base/whole_number.h"
#include "cache/budget_limits.h"
#include "loader/check.h"
#include "loader/open_step_cache.h"
#include "loader/sources.h"
#include "loader/step_arguments.h"
#include "ops/definition/args.h"
#include "pipeline/cache_rules.h"

namespace forebay {

namespace {

/// What tells the class of a sample; without one all are of class 0.
class ClassField {
 public:
  static Result<ClassField> find(const std::string& name, const Schema& schema, bool user_code) {
    if (name.empty()) return ClassField();
    const auto field = schema.find(name);
    if (user_code || !field) return unknown(name, user_code ? "" : schema.names());
    ClassField found;
    found.field_ = *field;
    found.name_ = name;
    if (schema[*field].fetched)
      return invalid_argument(fmt::format(
          "rehearse: the field '{}' must be read to be known; classes are told by fields of the index", name));
    return found;
  }
  const std::optional<size_t>& field() const { return field_; }
  Result<int64_t> of(const Record& record) const {
    if (!field_) return int64_t{0};
    if (const std::optional<int64_t> number = whole_number(record[*field_])) return *number;
    const Value& value = record[*field_];
    if (value.kind == FieldKind::kText || value.kind == FieldKind::kBytes)
      return class_of_text({reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
    return unfit(name_);
  }
  static Status unknown(const std::string& name, const std::string& others) {
    return invalid_argument(
        fmt::format("rehearse: the source has no field '{}' that is known before a sample is made; give by=\"\" (in "
                    "Python by=None), so that all are of one class{}{}",
                    name, others.empty() ? "" : ", or another field: ", others));
  }
  static Status unfit(const std::string& name) {
    return invalid_argument(fmt::format(
        "rehearse: the field '{}' is neither a whole number nor a text, which tell classes; give by=\"\" (in "
        "Python by=None), so that all are of one class, or another field",
        name));
  }

 private:
  std::optional<size_t> field_;
  std::string name_;
};

constexpr uint64_t kUsualBytes = uint64_t{2} << 30;  // as a .cache()'s

class IndexedSamples final : public StepSamples {
 public:
  IndexedSamples(ClassField classes, RehearsalRun::DataSet data)
      : classes_(classes), source_(std::move(data.source)), selection_(std::move(data.selection)),
        steps_(std::move(data.steps)), read_(std::move(data.classes)) {}

  Result<std::vector<Rehearsal::Sample>> of(const StepPlan& step) const override {
    const int64_t behind = steps_->schedule().next_position(step.at.position);
    std::vector<int64_t> ids(static_cast<size_t>(std::min(behind, selection_->size()) - step.at.position));
    steps_->order()->ids_at(step.at.epoch, step.at.position, ids);
    std::vector<int64_t> labels(ids.size());
    for (size_t i = 0; read_ && i < ids.size(); ++i) labels[i] = read_->of(ids[i]);
    selection_->ids_at(ids);
    if (all_at_once()) {
      FOREBAY_RETURN_IF_ERROR(
          source_->as_samples()->gather(*classes_.field(), ids, reinterpret_cast<uint8_t*>(labels.data())));
    } else if (classes_.field()) {
      for (size_t i = 0; i < ids.size(); ++i) {
        Record record;
        FOREBAY_RETURN_IF_ERROR(source_->as_samples()->load(ids[i], Buffer(), record));
        FOREBAY_ASSIGN(labels[i], classes_.of(record));
      }
    }
    std::vector<Rehearsal::Sample> samples;
    for (size_t i = 0; i < ids.size(); ++i) samples.push_back({ids[i], labels[i]});
    return samples;
  }

 private:
  bool all_at_once() const {
    const SampleSource* const samples = source_->as_samples();
    if (!classes_.field() || samples == nullptr || !samples->gathers(*classes_.field())) return false;
    const Field& field = source_->schema()[*classes_.field()];
    return field.dtype == DType::kInt64 && field.shape.rank() == 0;
  }

  const ClassField classes_;
  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<const Selection> selection_;
  const std::shared_ptr<const IndexedItinerary> steps_;
  const std::shared_ptr<const SampleClasses> read_;  // null: the source knows them
};

/// Of a stream; what is kept of it is held back from being forgotten.
class StreamedSamples final : public StepSamples {
 public:
  StreamedSamples(ClassField classes, std::shared_ptr<StreamRun> stream)
      : classes_(classes), stream_(std::move(stream)) {}

  Result<std::vector<Rehearsal::Sample>> of(const StepPlan& step) const override {
    const auto [from, to] = stream_->numbers_of(step);
    const std::vector<int64_t> dry = stream_->stream().dry(from, to);
    std::vector<Rehearsal::Sample> samples;
    for (int64_t number = from; number < to; ++number) {
      if (std::binary_search(dry.begin(), dry.end(), number)) continue;
      int64_t label = 0;
      if (classes_.field()) {
        Record record;
        // A record that is damaged is told when it is its turn; it is of no class that others have.
        const bool good = stream_->source()->as_samples()->load(number, Buffer(), record).ok();
        if (good) {
          FOREBAY_ASSIGN(label, classes_.of(record));
        } else {
          label = kClassOfDamaged;
        }
      }
      samples.push_back({number, label});
    }
    return samples;
  }
  Status keep(const StepPlan& step, std::span<const int64_t> entered) override { return stream_->keep(step, entered); }
  void let_go(std::span<const int64_t> left) override { stream_->let_go(left); }
  void bring(std::span<const int64_t> ids) override { stream_->bring(ids); }
  void give_back(std::span<const int64_t> ids) override { stream_->give_back(ids); }
  Result<bool> here(std::span<const int64_t> ids) const override { return stream_->here(ids); }
  std::string awaited() const override { return stream_->awaited_old(); }

 private:
  const ClassField classes_;
  const std::shared_ptr<StreamRun> stream_;
};

// The latest `capacity` of samples that a run with another capacity kept, the oldest first.
void keep_latest(Rehearsal::Class& kept, int64_t capacity) {
  std::rotate(kept.kept.begin(), kept.kept.begin() + kept.next, kept.kept.end());
  const auto size = static_cast<int64_t>(kept.kept.size());
  if (size > capacity) kept.kept.erase(kept.kept.begin(), kept.kept.end() - capacity);
  kept.next = 0;
}

// Of each kept sample. False for a text that is none of kept().
bool read_epochs(const nlohmann::ordered_json& epochs, std::vector<KeptSample>& kept) {
  if (!epochs.is_array() || epochs.size() != kept.size()) return false;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!epochs[i].is_number_integer() || epochs[i].template get<int64_t>() < 0) return false;
    kept[i].epoch = epochs[i].template get<int64_t>();
  }
  return true;
}

struct SaidRehearsal {
  RehearsalOptions options;
  int64_t old = 0;  // of each rank
  std::string by;
};

// What .buffer(when_dry="repeat") keeps: the latest records, as many as a step has.
SaidRehearsal repeated(const StreamRun& stream, uint64_t seed) {
  SaidRehearsal said;
  said.options = {.seed = seed,
                  .policy = RehearsalPolicy::kRecent,
                  .capacity = stream.global_batch(),
                  .draws = 0,
                  .candidates = {}};
  return said;
}

SaidRehearsal said_of(const Description& description, uint64_t seed, const Place& place) {
  const OpSpec& step = *find_step(description, OpRole::kRehearse);
  const Args args(step.args, catalog().find(step.name)->args);
  const std::string policy = args.text("policy");
  SaidRehearsal said;
  said.old = args.integer("n");
  said.by = args.text("by");
  said.options = {.seed = seed,
                  .policy = policy == "balanced" ? RehearsalPolicy::kBalanced
                            : policy == "recent" ? RehearsalPolicy::kRecent
                                                 : RehearsalPolicy::kReservoir,
                  .capacity = args.integer("capacity"),
                  // Drawn for all ranks at once; each takes its part, so that no two have the same old samples.
                  .draws = said.old * place.world_size};
  if (args.has("candidates")) said.options.candidates = args.integer("candidates");
  return said;
}

}  // namespace

Result<std::string> RehearsalRun::field_to_read(const Description& description, const Source& source) {
  const OpSpec& step = *find_step(description, OpRole::kRehearse);
  const std::string by = Args(step.args, catalog().find(step.name)->args).text("by");
  if (by.empty() || source.as_units() == nullptr) return std::string();
  const auto field = source.schema().find(by);
  if (!field) return ClassField::unknown(by, source.schema().names());
  if (!SampleClasses::can_be_of(source.schema()[*field])) return ClassField::unfit(by);
  return by;
}

Result<std::shared_ptr<RehearsalRun>> RehearsalRun::open(const Description& description, DataSet data, uint64_t seed,
                                                         const Place& place, std::shared_ptr<KeptRows> results) {
  const SaidRehearsal said = said_of(description, seed, place);
  ClassField classes;
  if (!data.classes) {
    const bool user_code = is_source(description.steps().front(), SourceKind::kUserCode);
    FOREBAY_ASSIGN(classes, ClassField::find(said.by, data.source->schema(), user_code));
  }
  std::shared_ptr<RehearsalRun> run(new RehearsalRun);
  run->options_ = said.options;
  run->source_ = data.source->version().to_string();
  run->samples_ = data.source->size();
  run->here_ = results != nullptr;
  const std::shared_ptr<IndexedItinerary> steps = data.steps;
  auto samples = std::make_shared<IndexedSamples>(classes, std::move(data));
  run->itinerary_ = std::make_shared<RehearsalItinerary>(steps, std::move(samples), said.options, said.old, place.rank,
                                                         std::move(results));
  return run;
}

Result<std::shared_ptr<RehearsalRun>> RehearsalRun::open(const Description& description,
                                                         std::shared_ptr<StreamRun> stream, uint64_t seed,
                                                         const Place& place, std::shared_ptr<KeptRows> results) {
  const bool asked_for = find_step(description, OpRole::kRehearse) != nullptr;
  const SaidRehearsal said = asked_for ? said_of(description, seed, place) : repeated(*stream, seed);
  const bool user_code = is_source(description.steps().front(), SourceKind::kUserCode);
  FOREBAY_ASSIGN(const ClassField classes, ClassField::find(said.by, stream->source()->schema(), user_code));
  std::shared_ptr<RehearsalRun> run(new RehearsalRun);
  run->options_ = said.options;
  run->source_ = stream->source()->version().to_string();
  run->stream_ = stream;
  run->here_ = results != nullptr;
  auto samples = std::make_shared<StreamedSamples>(classes, stream);
  run->itinerary_ = std::make_shared<RehearsalItinerary>(stream->itinerary(), std::move(samples), said.options,
                                                         said.old, place.rank, std::move(results));
  return run;
}

std::shared_ptr<KeptRows> RehearsalRun::open_results(const Description& description, std::optional<uint64_t> memory) {
  const OpSpec* const step = find_step(description, OpRole::kRehearse);
  if (step == nullptr || !rehearses_here(*step, catalog())) return nullptr;
  const Args args(step->args, catalog().find(step->name)->args);
  const uint64_t said = args.has("ram") ? args.bytes("ram") : kUsualBytes;
  return std::make_shared<KeptRows>(std::min({said, memory_limit(), cached_at_most(memory)}));
}

std::string RehearsalRun::kept() const {
  const Rehearsal rehearsal = itinerary_->kept();
  nlohmann::ordered_json json = {{"source", source_}, {"classes", nlohmann::ordered_json::array()}};
  std::vector<int64_t> ids;
  for (const auto& [label, one] : rehearsal.classes()) {
    std::vector<int64_t> of_class, epochs;
    for (const KeptSample& sample : one.kept) {
      of_class.push_back(sample.id);
      epochs.push_back(sample.epoch);
    }
    json["classes"].push_back({label, one.seen, one.largest_once, one.next, of_class});
    if (here_) json["classes"].back().push_back(epochs);
    ids.insert(ids.end(), of_class.begin(), of_class.end());
  }
  if (stream_) json["places"] = nlohmann::ordered_json::parse(stream_->kept_places(ids));
  return json.dump();
}

Result<Rehearsal> RehearsalRun::read_kept(const std::string& text) const {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [] { return invalid_argument("this state has no usable \"rehearsal\""); };
  if (!json.is_object() || !json.contains("classes") || !json["classes"].is_array()) return wrong();
  if (json.value("source", nlohmann::ordered_json()) != source_)
    return Status(Code::kStateMismatch, "the kept samples are of another data set");
  std::map<int64_t, Rehearsal::Class> classes;
  int64_t all = 0;
  // A state is a stranger's text: ids index the data set, and `next` the kept ones.
  for (const auto& one : json["classes"]) {
    const bool good = one.is_array() && (one.size() == 5 || one.size() == 6) && one[0].is_number_integer() &&
                      one[1].is_number_integer() && one[2].is_boolean() && one[3].is_number_integer() &&
                      one[4].is_array();
    if (!good) return wrong();
    Rehearsal::Class kept{
        one[1].template get<int64_t>(), one[2].template get<bool>(), {}, one[3].template get<int64_t>()};
    for (const auto& id : one[4]) {
      if (!id.is_number_integer() || id.template get<int64_t>() < 0) return wrong();
      if (!stream_ && id.template get<int64_t>() >= samples_) return wrong();
      kept.kept.push_back({.id = id.template get<int64_t>()});
    }
    if (one.size() == 6 && !read_epochs(one[5], kept.kept)) return wrong();
    const auto size = static_cast<int64_t>(kept.kept.size());
    all += size;
    if (kept.seen < size || kept.next < 0 || kept.next > std::max<int64_t>(size - 1, 0)) return wrong();
    // What is repeated is as much as a batch, and a run may go on with batches of another size.
    const bool other_size = size > options_.capacity || (size < options_.capacity && kept.next > 0);
    if (options_.draws == 0 && other_size) keep_latest(kept, options_.capacity);
    if (static_cast<int64_t>(kept.kept.size()) > options_.capacity) return wrong();
    classes.emplace(one[0].template get<int64_t>(), std::move(kept));
  }
  if (options_.policy == RehearsalPolicy::kBalanced && all > options_.capacity) return wrong();
  if (stream_)
    FOREBAY_RETURN_IF_ERROR(stream_->read_kept_places(json.value("places", nlohmann::ordered_json::array()).dump()));
  if (stream_) {
    for (const auto& [label, one] : classes) {
      for (const KeptSample& sample : one.kept) {
        if (!stream_->is_kept(sample.id))
          return invalid_argument("this state keeps records of which it does not say where they lie");
      }
    }
  }
  Rehearsal rehearsal(options_);
  rehearsal.restore(std::move(classes));
  return rehearsal;
}

Status RehearsalRun::check_behind(const Rehearsal& kept) const {
  if (!stream_) return {};
  for (const auto& [label, one] : kept.classes()) {
    for (const auto& [number, epoch] : one.kept) {
      if (number >= stream_->first_number())
        return Status(
            Code::kStateMismatch,
            fmt::format("rehearsal=: record {} was kept, and this run begins with record {}, so it would meet "
                        "another one of that number; go on from the state with load_state_dict(), or repeat "
                        "the journal that begins there",
                        number, stream_->first_number()));
    }
  }
  return {};
}

}  // namespace forebay
