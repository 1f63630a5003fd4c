#include "loader/compile/compile.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "format/joined/joined_samples.h"
#include "format/joined/part_of_source.h"
#include "loader/compile/cache_place.h"
#include "loader/compile/needed_steps.h"
#include "loader/compile/packing_step.h"
#include "loader/compile/untouched_field.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/user_code.h"
#include "pipeline/cache_rules.h"
#include "pipeline/content_keys.h"
#include "pipeline/operator_bytes.h"
#include "pipeline/part_fields.h"

namespace forebay {

namespace {

// For each step of the user's description, the number of random steps before it.
std::vector<uint32_t> random_indices(const Description& description) {
  std::vector<uint32_t> indices;
  uint32_t next = 0;
  for (const OpSpec& op : description.steps()) {
    indices.push_back(next);
    if (is_random_step(op, catalog())) ++next;
  }
  return indices;
}

const OpDef& def_of(const OpSpec& op) { return *catalog().find(op.name); }

bool is_python(const OpSpec& op) { return def_of(op).role == OpRole::kFunction && !op.attachment; }

// Compares fields in any order. Ignores fields of unknown kind that one side lacks if that side is
// open-ended: user code makes them although no step of the plan names them.
bool same_fields(const Schema& a, const Schema& b) {
  const auto missing = [](const Schema& from, const Schema& in) {
    return std::any_of(from.begin(), from.end(), [&](const Field& field) {
      const auto found = in.find(field.name);
      if (!found) return !in.open_ended || field.kind != FieldKind::kAny;
      return in[*found].to_string() != field.to_string();
    });
  };
  return a.open_ended == b.open_ended && !missing(a, b) && !missing(b, a);
}

Schema filter_answer() {
  Field keep;
  keep.name = "keep";
  keep.dtype = DType::kBool;
  return Schema({keep});
}

constexpr uint32_t kPackedForm = 1;  // incremented when the layout of table entries changes

bool has_unsized_outputs(const BranchPlan& plan) {
  return std::ranges::any_of(plan.outputs, [](const OutputField& output) { return !output.row_bytes; });
}

bool gathers_rows(const BranchPlan& plan) { return plan.chunks && plan.chunks->gathers_rows; }

// Builds one plan; run() is called once. It first reduces the description to the needed steps, then
// adds their stages in order: steps on whole chunks first, steps on single samples after them.
class Compiler {
 public:
  explicit Compiler(const CompileInput& input)
      : input_(input), indices_(random_indices(*input.description)), end_(input.end) {
    for (size_t i = 1; i < end_; ++i) {
      const OpSpec& op = input.description->steps()[i];
      const OpEffect effect = def_of(op).effect;
      if (effect == OpEffect::kPacking || (effect == OpEffect::kReplay && !rehearses_here(op, catalog()))) end_ = i;
      packs_ |= effect == OpEffect::kPacking;
    }
  }

  Result<std::shared_ptr<const BranchPlan>> run() {
    const Inference whole = infer(*input_.description, input_.source->schema(), catalog());
    if (!whole.problems.empty()) return internal_error(problems_as_status(whole.problems).message());
    const auto chunks = shared_as_chunks(input_.source);
    reduce(whole, chunks != nullptr);
    if (!input_.pass_of.empty()) FOREBAY_RETURN_IF_ERROR(check_no_draws());
    plan_ = std::make_shared<BranchPlan>();
    plan_->source = input_.source;
    if (chunks) {
      FOREBAY_ASSIGN(plan_->source, with_live_fields(*chunks, needed_.live.front()));
    } else if (const auto samples = read_of_samples(*input_.source->as_samples(), needed_.live.front())) {
      plan_->source = samples;
    }
    inference_ = infer(needed_.description, plan_->source->schema(), catalog(), Rules::kFields);
    FOREBAY_RETURN_IF_ERROR(check_reduced(whole));
    plan_->selection = input_.selection;
    plan_->seed = input_.seed;
    plan_->trace = input_.trace;
    if (input_.branch) plan_->name = input_.branch->name;
    for (const Field& field : input_.source->schema())
      plan_->fetches |= !chunks && field.fetched && needed_.live.front().contains(field.name);
    if (is_source(step_at(0), SourceKind::kUserCode)) {
      add_foreign(foreign_stage(step_at(0), 0, 0, {}, inference_.schemas[0]));
    }
    size_t begin = 1;
    if (chunks) {
      FOREBAY_ASSIGN(begin, add_chunk_ops());
    }
    for (size_t i = begin; i < needed_.steps.size(); ++i) {
      begin_part(i);
      FOREBAY_RETURN_IF_ERROR(add_step(i));
    }
    Schema output = inference_.schemas.back();
    if (input_.as_filter) {
      FOREBAY_RETURN_IF_ERROR(add_filter(input_.description->steps()[input_.end], output));
      output = filter_answer();
    }
    record_user_code_names();
    plan_->stacks_rows = !keeps_samples_apart();
    set_outputs(output);
    if (packs() && whole.schemas[end_ - 1].open_ended) {
      plan_->packed_fields = packed_fields(*reader());
      plan_->limited_fields = limited_fields(*reader());
    }
    if (packs() && input_.packing) {
      plan_->packing = packing_of(*reader(), *input_.packing, plan_->outputs);
      FOREBAY_RETURN_IF_ERROR(add_block_ops(whole));
    }
    if (end_ < input_.end && !packs())
      plan_->rehearsed_field = def_of(input_.description->steps()[end_]).used({}, {}).makes.front();
    if (chunks_) {
      chunks_->gathers_rows = plan_->stages.empty() && !output.open_ended && may_refer_to_chunks();
      plan_->chunks = chunks_;
    }
    return std::shared_ptr<const BranchPlan>(plan_);
  }

 private:
  const OpSpec& step_at(size_t i) const { return needed_.description.steps()[i]; }
  bool packs() const { return packs_; }
  // The step that reads samples at their end and gives something else: a filter or a packing.
  const OpSpec* reader() const { return input_.as_filter || packs() ? &input_.description->steps()[end_] : nullptr; }

  // Returns whether user code gets the samples of a batch. Packed blocks are made before that.
  bool keeps_samples_apart() const {
    return reader() == nullptr && find_step(*input_.description, OpEffect::kCollation) != nullptr;
  }

  void reduce(const Inference& whole, bool chunks) {
    const Description& description = *input_.description;
    LiveFields live(whole.schemas[end_ - 1]);
    std::vector<std::string> asked;
    if (const OpSpec* const by = reader()) {
      // Fields that only decide which rows share a block are read once, to measure them.
      asked = input_.packing ? packed_fields(*by) : def_of(*by).used(*by, whole.schemas[end_ - 1]).reads;
      std::erase_if(asked, [&](const std::string& name) { return input_.measured.contains(name); });
      if (!asked.empty()) live = LiveFields(asked);
    }
    const Schema& all = whole.schemas[0];
    needed_ = needed_steps(description, end_, whole, live, catalog(),
                           [&](const LiveFields& first) { return chunks ? read_of_chunks(all, first) : all; });
    // User code before this step is asked for exactly these fields.
    if (!asked.empty()) return add_select(std::move(asked), end_, std::move(live));
    if (!input_.branch || !input_.branch->selects) return;
    drop_batch();
    add_select(input_.branch->fields, end_ - 1, LiveFields(input_.branch->fields));
  }

  void add_select(std::vector<std::string> fields, size_t step, LiveFields live) {
    OpSpec select;
    select.name = "select";
    select.args["fields"] = std::move(fields);
    needed_.description = needed_.description.append(std::move(select));
    needed_.steps.push_back(step);
    needed_.live.push_back(std::move(live));
  }

  // Nothing may follow a batch, which is the last step and makes no stage.
  void drop_batch() {
    std::vector<OpSpec> steps = needed_.description.steps();
    if (!catalog().has_effect(steps.back(), OpEffect::kBatching)) return;
    steps.pop_back();
    needed_.description = Description::of(std::move(steps));
    needed_.steps.pop_back();
    needed_.live.pop_back();
  }

  Status check_no_draws() const {
    const JoinedSamples* const joined = as_joined(*input_.source);
    for (size_t i = 0; joined != nullptr && i < joined->schema().size(); ++i) {
      const JoinedPart& part = joined->part_of(i);
      if (!part.drawn || !needed_.live.front().contains(joined->schema()[i].name)) continue;
      return invalid_argument(fmt::format(
          "{}: it goes by the part '{}' of the zip, of which another sample comes each time, and decides once for all "
          "epochs; let it read fields of other parts alone (.filter(fn, fields=[…])) or put it into that part, and put "
          "functions of that part behind the zip",
          input_.pass_of, part.name));
    }
    return {};
  }

  // A plan with another meaning than the description must never run.
  Status check_reduced(const Inference& whole) const {
    std::string wrong;
    if (!inference_.problems.empty()) wrong = problems_as_status(inference_.problems).message();
    const Schema& made = inference_.schemas.back();
    const Schema& promised = whole.schemas[end_ - 1];
    const bool selects = input_.branch && input_.branch->selects;
    if (wrong.empty() && reader() == nullptr && !selects && !same_fields(made, promised))
      wrong = fmt::format("it gives ({}) in place of ({})", made.to_string(), promised.to_string());
    if (wrong.empty()) return {};
    return internal_error(fmt::format("the plan of a pipeline is wrong: {}\nthe pipeline:\n{}\nits plan:\n{}", wrong,
                                      input_.description->to_string(), needed_.description.to_string()));
  }

  // Begins a stage at the first step of a part of a zip that has a cache: an entry of the part
  // replaces the stages from there on. Rows of chunks have the fields of all parts, and so have
  // their entries.
  void begin_part(size_t i) {
    const std::string& part = step_at(i).part;
    if (as_joined(*plan_->source) == nullptr || part.empty() || part == part_.name) return;
    part_ = {part, plan_->stages.size(), inference_.schemas[i - 1]};
    const auto caches = [&](const OpSpec& op) {
      return op.part == part && catalog().has_effect(op, OpEffect::kCaching);
    };
    stage_ends_ |= std::ranges::any_of(needed_.description.steps(), caches);
  }

  Status add_step(size_t i) {
    const OpSpec& op = step_at(i);
    const OpDef& def = def_of(op);
    const size_t step = needed_.steps[i];
    const Schema &before = inference_.schemas[i - 1], &after = inference_.schemas[i];
    if (def.effect == OpEffect::kCaching) return add_cache(i);
    if (def.effect == OpEffect::kReplay) return add_rehearsal(i);
    if (def.effect == OpEffect::kBatching) return {};
    if (is_python(op)) {
      add_foreign(foreign_stage(op, step, indices_[step], before, after));
      forget_unnamed();
      return {};
    }
    if (def.role == OpRole::kFunction) {
      FOREBAY_ASSIGN(std::unique_ptr<RecordOp> function, def.make(op, before, indices_[step]));
      add_native(op.shown_name(), std::move(function));
      return {};
    }
    fields_chosen_ |= def.role == OpRole::kChoice;
    FOREBAY_ASSIGN(std::unique_ptr<RecordOp> compiled, def.make(op, before, indices_[step]));
    if (!compiled) return {};
    add_native(op.shown_name(), std::move(compiled));
    plan_->working_bytes += working_bytes(def.used(op, before), before, after);
    return {};
  }

  // Adds the operators behind the packing. User code there is the loader's work (batch_stages()).
  Status add_block_ops(const Inference& whole) {
    plan_->packing->made = whole.schemas[end_];
    for (size_t i = end_ + 1; i < input_.end; ++i) {
      const OpSpec& op = input_.description->steps()[i];
      const OpDef& def = def_of(op);
      if (def.effect != OpEffect::kContent || def.role == OpRole::kFunction) continue;
      const Schema &before = whole.schemas[i - 1], &after = whole.schemas[i];
      auto added = std::make_shared<ChunkOp>(ChunkOp{op.shown_name(), nullptr, std::make_shared<StepCounters>()});
      FOREBAY_ASSIGN(added->op, def.make_columns(op, before));
      if (!added->op)
        return invalid_argument(
            fmt::format("step {}: {} works on single samples; move it before .pack()", i, op.shown_name()));
      const FieldUse use = def.used(op, before);
      set_made_bytes(*added, use, before, after);
      for (const std::string& name : use.makes) {  // of user code nobody knows the type of the numbers
        const auto made = after.find(name);
        if (made && after[*made].kind == FieldKind::kAny)
          added->made_row_bytes += static_cast<uint64_t>(input_.packing->block_length) * sizeof(int64_t);
      }
      plan_->packing->ops.push_back(std::move(added));
      plan_->packing->made = after;
    }
    return {};
  }

  void add_foreign(ForeignStage stage) {
    if (!input_.numbers.empty()) stage.number = input_.numbers[stage.step];
    plan_->stages.emplace_back(std::move(stage));
  }

  // After a step that chooses fields, fields that user code made before it and that no step names
  // no longer exist.
  void forget_unnamed() {
    if (!std::exchange(fields_chosen_, false)) return;
    if (auto* foreign = std::get_if<ForeignStage>(&plan_->stages.back())) foreign->drops_extras = true;
    if (auto* keyed = std::get_if<KeyedStage>(&plan_->stages.back())) keyed->drops_extras = true;
  }

  // Whether the renaming had a pair for this name. The reduced step has only the pairs that are
  // read.
  bool renamed_away(size_t i, const std::string& name) const {
    const OpSpec& original = input_.description->steps()[needed_.steps[i]];
    const std::vector<std::string> renamed = def_of(original).used(original, inference_.schemas[i - 1]).reads;
    return def_of(original).role == OpRole::kNames && std::find(renamed.begin(), renamed.end(), name) != renamed.end();
  }

  // Records the fields that user code makes in place of others. Fields that it makes unasked must
  // not have the name of a field that a later step makes.
  void record_user_code_names() {
    for (Stage& stage : plan_->stages) {
      auto* foreign = std::get_if<ForeignStage>(&stage);
      if (foreign == nullptr) continue;
      size_t i = 1;
      while (i < needed_.steps.size() && needed_.steps[i] <= foreign->step) ++i;
      for (; i < needed_.steps.size(); ++i) {
        const OpSpec& op = step_at(i);
        const OpRole role = def_of(op).role;
        if (role == OpRole::kChoice || role == OpRole::kFunction) break;
        if (role != OpRole::kNames && role != OpRole::kValues) continue;
        const FieldUse use = def_of(op).used(op, inference_.schemas[i - 1]);
        if (!use.or_else.empty()) foreign->substitutes.emplace_back(use.reads.front(), use.or_else);
        for (const std::string& name : use.makes) {
          const bool in_place = std::find(use.reads.begin(), use.reads.end(), name) != use.reads.end();
          if (!in_place && !foreign->output_schema.find(name) && !renamed_away(i, name))
            foreign->later_names.emplace_back(name, op.name);
        }
      }
    }
  }

  Status add_filter(const OpSpec& op, const Schema& before) {
    if (def_of(op).compile) {
      FOREBAY_ASSIGN(std::unique_ptr<RecordOp> tests, def_of(op).compile(op, before, 0));
      add_native(op.name, std::move(tests));
    } else if (op.attachment) {
      add_native(op.name, native_filter(std::static_pointer_cast<const FilterAttachment>(op.attachment), before,
                                        def_of(op).used(op, before).reads));
    } else {
      add_foreign(foreign_stage(op, input_.end, indices_[input_.end], before, filter_answer()));
      forget_unnamed();
    }
    return {};
  }

  // Reads at least one field, since it counts the rows.
  static Schema read_of_chunks(const Schema& all, const LiveFields& live) {
    std::vector<Field> read;
    for (const Field& field : all) {
      if (live.contains(field.name)) read.push_back(field);
    }
    if (read.empty() && all.size() > 0) read.push_back(all[0]);
    return Schema(std::move(read));
  }

  static Result<std::shared_ptr<const ChunkSource>> with_live_fields(const ChunkSource& source,
                                                                     const LiveFields& live) {
    std::vector<std::string> names;
    for (const Field& field : read_of_chunks(source.schema(), live)) names.push_back(field.name);
    return source.with_fields(names);
  }

  // The source without objects that nobody reads; null if that is the source itself.
  static std::shared_ptr<const SampleSource> read_of_samples(const SampleSource& source, const LiveFields& live) {
    std::vector<std::string> names;
    for (const Field& field : source.schema())
      if (live.contains(field.name)) names.push_back(field.name);
    return source.with_fields(names);
  }

  // Adds the steps that work on whole chunks. Returns the first step that works on single samples.
  Result<size_t> add_chunk_ops() {
    chunks_ = std::make_shared<ChunkPlan>();
    chunks_->source = std::static_pointer_cast<const ChunkSource>(plan_->source);
    size_t i = 1;
    std::optional<size_t> cache;
    for (; i < needed_.steps.size(); ++i) {
      const OpSpec& op = step_at(i);
      const OpDef& def = def_of(op);
      if (def.effect == OpEffect::kCaching) {
        cache = i;
        chunks_->cached_after = chunks_->ops.size();
        continue;
      }
      FOREBAY_ASSIGN(std::unique_ptr<ColumnOp> compiled, def.make_columns(op, inference_.schemas[i - 1]));
      if (!compiled) break;
      chunks_->ops.push_back({op.shown_name(), std::move(compiled), std::make_shared<StepCounters>()});
      set_made_bytes(chunks_->ops.back(), def.used(op, inference_.schemas[i - 1]), inference_.schemas[i - 1],
                     inference_.schemas[i]);
    }
    if (!cache || !input_.open_cache) chunks_->cached_after = chunks_->ops.size();
    chunks_->packed = PackedRows(inference_.schemas[i - 1]);
    chunks_->rows_identity = identity_before(i, inference_.schemas[i - 1]);
    if (cache && input_.open_cache) FOREBAY_RETURN_IF_ERROR(open_chunk_cache(*cache));
    return i;
  }

  // Packed rows and columns have different identities, because the steps after the cache decide
  // which of the two the entries hold.
  Status open_chunk_cache(size_t i) {
    const Schema& cached = inference_.schemas[i];
    Hasher hasher;
    const Hash128 identity = identity_before(i, cached);
    hasher.update_value(identity.high);
    hasher.update_value(identity.low);
    hasher.update(chunks_->caches_packed() ? "packed" : "columns");
    chunks_->cache_identity = hasher.digest();
    const uint64_t least = fixed_bytes(cached) * static_cast<uint64_t>(chunks_->source->fewest_rows());
    FOREBAY_ASSIGN(chunks_->cache, input_.open_cache(needed_.steps[i], chunks_->cache_identity, least));
    if (!chunks_->cache) chunks_->cached_after = chunks_->ops.size();
    return {};
  }

  Status add_cache(size_t i) {
    if (!input_.open_cache) return {};
    auto [stage, cached] = stage_at(i);
    if (cached.size() == 0 && !stage.schema.open_ended) return {};
    const Hash128 identity = identity_before(i, cached, stage.part);
    FOREBAY_ASSIGN(stage.cache, input_.open_cache(needed_.steps[i], identity, fixed_bytes(cached)));
    if (!stage.cache) return {};
    const auto source = part_of_source(plan_->source, stage.part);
    const bool fetches = stage.part.empty() ? plan_->fetches : stage.object.has_value();
    stage.keys = std::make_shared<ContentKeys>(stage.cache, source, identity, fetches);
    // Rows of chunks are looked up when their batch is planned, and only one task reads a chunk.
    if (!chunks_) stage.flights = stage.cache->flights();
    add_keyed(std::move(stage));
    return {};
  }

  Status add_rehearsal(size_t i) {
    KeyedStage stage = stage_at(i).stage;
    stage.cache = input_.replayed.cache;
    stage.keys = input_.replayed.keys;
    stage.marks_replayed = true;
    plan_->stages_when_new = plan_->stages.size();
    add_keyed(std::move(stage));
    return {};
  }

  void add_keyed(KeyedStage stage) {
    plan_->keyed.insert(plan_->keyed.begin(), plan_->stages.size());
    plan_->stages.emplace_back(std::move(stage));
    forget_unnamed();
  }

  struct CachingStage {
    KeyedStage stage;
    Schema cached;  // fields of an entry
  };
  // Returns the stage that looks up and stores entries after step `i` - 1. Fields that no step
  // reads are not cached: their values may never have been computed.
  CachingStage stage_at(size_t i) const {
    CachingStage result;
    KeyedStage& stage = result.stage;
    stage.name = step_at(i).name;
    stage.schema = inference_.schemas[i - 1];
    if (const JoinedSamples* const joined = as_joined(*plan_->source); joined != nullptr && !step_at(i).part.empty()) {
      stage.part = part_.name;
      stage.begin = part_.begin;
      stage.object = joined->object_of(stage.part);
    }
    for (const Field& field : stage.schema) {
      const bool is_live = needed_.live[i].contains(field.name), own = name_in_part(stage.part, field.name).has_value();
      stage.from_before.push_back(is_live ? field_before(stage, field.name, i) : std::nullopt);
      stage.in_entry.push_back(is_live && own && !stage.from_before.back());
      if (stage.in_entry.back()) result.cached.push_back(field);
    }
    return result;
  }

  // The field of the record before stage `stage.begin` that is unchanged before step `i`.
  std::optional<size_t> field_before(const KeyedStage& stage, const std::string& name, size_t i) const {
    if (!name_in_part(stage.part, name)) return part_.before.find(name);
    const auto field = untouched_field(needed_.description, inference_, *input_.source, name, i);
    if (!field || stage.part.empty()) return field;
    return part_.before.find(input_.source->schema()[*field].name);
  }

  // Identity of the samples before a step (an index into the needed steps): it covers the steps
  // that are carried out, and the fields in `cached` that they make.
  // That of a part of a zip covers its own steps and fields, so that it is the part's by itself.
  Hash128 identity_before(size_t cache, const Schema& cached, const std::string& part = "") const {
    Hasher hasher;
    const size_t step = cache < needed_.steps.size() ? needed_.steps[cache] : input_.description->steps().size();
    const Hash128 prefix =
        part.empty() ? prefix_identity(*input_.description, step) : prefix_identity_in_part(*input_.description, step);
    hasher.update_value(prefix.high);
    hasher.update_value(prefix.low);
    for (size_t i = 1; i < cache; ++i) {
      const OpSpec& op = step_at(i);
      if (!part.empty() && op.part != part) continue;
      hasher.update((part.empty() ? op.shown_name() : op.name) + identity_text(op.args) + ";");
    }
    for (Field field : cached) {
      field.name = name_in_part(part, field.name).value_or(field.name);
      hasher.update(field.to_string() + ";");
    }
    hasher.update_value(kPackedForm);
    return hasher.digest();
  }

  void add_native(const std::string& name, std::unique_ptr<RecordOp> op) {
    const bool ends = std::exchange(stage_ends_, false);
    if (ends || plan_->stages.empty() || !std::holds_alternative<NativeStage>(plan_->stages.back()))
      plan_->stages.push_back(NativeStage());
    std::get<NativeStage>(plan_->stages.back()).ops.push_back({name, std::move(op), std::make_shared<StepCounters>()});
  }

  // Returns the field of the source that is this output field, if its values only passed through
  // steps that choose or rename fields.
  std::optional<size_t> source_field(std::string name) const {
    for (size_t i = needed_.steps.size(); i-- > 1;) {
      const OpDef& def = def_of(step_at(i));
      if (def.role == OpRole::kChoice || def.effect == OpEffect::kBatching) continue;
      if (def.role != OpRole::kNames) return std::nullopt;
      name = name_before(step_at(i), inference_.schemas[i - 1], name);
    }
    return input_.as_filter ? std::nullopt : input_.source->schema().find(name);
  }

  void set_outputs(const Schema& schema) {
    plan_->output_schema = schema;
    bool any_may_differ = false;
    for (size_t i = 1; i < needed_.steps.size(); ++i) any_may_differ |= is_python(step_at(i));
    for (const Field& field : schema) {
      OutputField output;
      output.field = field;
      if (field.fixed_shape() && !field.pad_value) output.row_bytes = row_bytes(field);
      // The source can copy a field that no operator has changed.
      const std::optional<size_t> from = source_field(field.name);
      const SampleSource* const samples = input_.source->as_samples();
      output.gathered = output.row_bytes && from && samples != nullptr && samples->gathers(*from);
      output.source_field = from.value_or(0);
      output.may_differ = any_may_differ && output.row_bytes && !output.gathered;
      if (input_.branch && input_.branch->unsized.contains(field.name)) {
        output.row_bytes.reset();
        output.gathered = output.may_differ = false;
        output.field.kind = FieldKind::kAny;
      }
      if (packs() || !plan_->stacks_rows) {  // neither blocks nor single samples have a row size
        output.row_bytes.reset();
        output.gathered = output.may_differ = false;
      }
      plan_->outputs.push_back(std::move(output));
      if (input_.branch && !input_.branch->fields.empty()) {
        const auto& fields = input_.branch->fields;
        plan_->batch_outputs.push_back(static_cast<size_t>(std::ranges::find(fields, field.name) - fields.begin()));
      }
    }
  }

  // Returns whether rows of unknown shape, if there are any, may be references to chunks. Rows of one
  // length would be copied to slots, which blocks do not have.
  bool may_refer_to_chunks() const {
    if (packs() && !chunks_->packed.parts().empty()) return false;
    if (!has_unsized_outputs(*plan_)) return true;
    return plan_->stacks_rows && (!input_.branch || (!packs() && !input_.branch->as_values));
  }

  const CompileInput& input_;
  const std::vector<uint32_t> indices_;
  size_t end_;  // end of the steps that are carried out on samples
  bool packs_ = false;
  NeededSteps needed_;
  Inference inference_;         // of the needed steps
  bool fields_chosen_ = false;  // a choice of fields follows the latest stage of user code or cache
  // The part of a zip whose steps are being added: its first stage, and the fields before that.
  struct Part {
    std::string name;
    size_t begin = 0;
    Schema before;
  };
  Part part_;
  bool stage_ends_ = false;  // the next operator begins a stage
  std::shared_ptr<BranchPlan> plan_;
  std::shared_ptr<ChunkPlan> chunks_;
};

}  // namespace

Result<std::shared_ptr<const BranchPlan>> compile(const CompileInput& input) { return Compiler(input).run(); }

namespace {

Result<std::vector<std::shared_ptr<const BranchPlan>>> compile_each(std::span<const CompileInput> branches) {
  std::vector<std::shared_ptr<const BranchPlan>> plans;
  for (const CompileInput& branch : branches) {
    FOREBAY_ASSIGN(plans.emplace_back(), compile(branch));
  }
  return plans;
}

// Names of outputs that are not of one type and shape in all branches, as far as the plans know.
std::set<std::string> differing_outputs(const std::vector<std::shared_ptr<const BranchPlan>>& plans) {
  std::set<std::string> names;
  std::map<std::string, std::string> first;
  for (const OutputField& output : plans.front()->outputs) first[output.field.name] = output.field.to_string();
  for (const auto& plan : plans) {
    for (const OutputField& output : plan->outputs)
      if (output.field.to_string() != first[output.field.name]) names.insert(output.field.name);
  }
  return names;
}

}  // namespace

Result<ExecutionPlan> compile(std::span<CompileInput> branches, std::vector<BatchStage> batch_stages) {
  FOREBAY_ASSIGN(auto plans, compile_each(branches));
  // Fields that differ and are known in all branches were found by check().
  const std::set<std::string> unsized = differing_outputs(plans);
  const bool some_refer =
      std::ranges::any_of(plans, [](const auto& plan) { return gathers_rows(*plan) && has_unsized_outputs(*plan); });
  const bool all_may = std::ranges::all_of(plans, [](const auto& plan) { return gathers_rows(*plan); });
  if (!unsized.empty() || (some_refer && !all_may)) {
    for (CompileInput& branch : branches) {
      branch.branch->unsized = unsized;
      branch.branch->as_values = true;
    }
    FOREBAY_ASSIGN(plans, compile_each(branches));
  }
  return ExecutionPlan(std::move(plans), std::move(batch_stages));
}

}  // namespace forebay
