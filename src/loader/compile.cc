#include "loader/compile.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/unit_source.h"
#include "loader/cache_place.h"
#include "loader/table_args.h"
#include "loader/user_code.h"
#include "ops/registry.h"

namespace forebay {

namespace {

// Steps that the loader deals with itself: they change which samples come, not what is in them.
bool is_about_samples(const std::string& name) {
  return name == "shuffle" || name == "take" || name == "filter" || name == "batch";
}

std::vector<std::string> fields_of(const OpSpec& op) {
  const OpDef* def = catalog().find(op.name);
  std::vector<std::string> names;
  for (const ArgDef& arg : def->args) {
    if (arg.name != "field" && arg.name != "fields") continue;
    const Json& value = op.args.contains(arg.name) ? op.args[arg.name] : arg.default_value;
    for (std::string& name : field_list(value)) names.push_back(std::move(name));
  }
  return names;
}

// Walks from the end to the source with the set of fields that somebody still looks at.
class Demand {
 public:
  explicit Demand(const Schema& wanted) {
    for (const Field& field : wanted) names_.insert(field.name);
    all_ = wanted.open_ended;
  }
  explicit Demand(const std::vector<std::string>& wanted)
      : all_(wanted.empty()), names_(wanted.begin(), wanted.end()) {}

  // Takes the step into account; false where nobody needs it.
  bool needs(const OpSpec& op, const Schema& before) {
    if (is_about_samples(op.name)) return false;
    if (op.name == "select") {
      if (all_) names_ = set_of(fields_of(op));
      all_ = false;
      return true;
    }
    if (op.name == "rename") return rename_back(op);
    if (op.name == "map") return add_all(fields_of(op), fields_of(op).empty());
    if (op.name == "decode_image") return decode_back(op, before);
    if (op.name == "cache") return true;
    if (const OpDef* def = catalog().find(op.name); def->uses) return use_back(def->uses(op));
    const std::vector<std::string> fields = fields_of(op);
    const bool wanted =
        all_ || std::any_of(fields.begin(), fields.end(), [&](auto& name) { return names_.contains(name); });
    return wanted && add_all(fields, false);
  }

  bool wants(const std::string& name) const { return all_ || names_.contains(name); }

 private:
  static std::set<std::string> set_of(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

  bool add_all(const std::vector<std::string>& fields, bool everything) {
    names_.insert(fields.begin(), fields.end());
    all_ |= everything;
    return true;
  }

  bool use_back(const FieldUse& use) {
    if (!all_ && std::none_of(use.makes.begin(), use.makes.end(), [&](auto& name) { return names_.contains(name); }))
      return false;
    for (const std::string& name : use.makes) names_.erase(name);
    return add_all(use.reads, false);
  }

  bool rename_back(const OpSpec& op) {
    std::set<std::string> before = names_;
    for (const auto& [from, to] : op.args["names"].items()) {
      if (to.is_string()) before.erase(to.get<std::string>());
    }
    for (const auto& [from, to] : op.args["names"].items()) {
      if (to.is_string() && names_.contains(to.get<std::string>())) before.insert(from);
    }
    names_ = std::move(before);
    return true;
  }

  bool decode_back(const OpSpec& op, const Schema& before) {
    std::vector<std::string> inputs = fields_of(op);
    std::erase(inputs, "");
    if (inputs.empty()) {
      const std::optional<size_t> image = before.find("image");
      const bool encoded = image && before[*image].kind != FieldKind::kTensor;
      inputs = {encoded ? "image" : "bytes"};
      if (!wants("image")) return false;
    } else if (!wants("image") && std::none_of(inputs.begin(), inputs.end(), [&](auto& name) { return wants(name); })) {
      return false;
    }
    return add_all(inputs, false);
  }

  bool all_ = false;
  std::set<std::string> names_;
};

// A description of only the steps that are needed, and where each came from.
struct Reduced {
  Description description;
  std::vector<size_t> steps;  // index in the user's description
};

Reduced reduce(const CompileInput& input, const Inference& inference, Demand& demand) {
  const std::vector<OpSpec>& steps = input.description->steps();
  std::vector<size_t> kept;
  for (size_t i = input.end; i-- > 1;) {
    if (demand.needs(steps[i], inference.schemas[i - 1])) kept.push_back(i);
  }
  kept.push_back(0);
  std::reverse(kept.begin(), kept.end());
  Reduced reduced{Description(steps[0]), kept};
  for (size_t i = 1; i < kept.size(); ++i) reduced.description = reduced.description.append(steps[kept[i]]);
  return reduced;
}

// Place of each step among the random ones of the user's description.
std::vector<uint32_t> random_indices(const Description& description) {
  std::vector<uint32_t> indices;
  uint32_t next = 0;
  for (const OpSpec& op : description.steps()) {
    indices.push_back(next);
    const OpDef* def = catalog().find(op.name);
    const bool random_map = op.name == "map" && op.args.value("random", Json(false)) == Json(true);
    if ((def != nullptr && def->random) || random_map) ++next;
  }
  return indices;
}

ForeignStage foreign_stage(const OpSpec& op, size_t step, uint32_t random_index, const Schema& before,
                           const Schema& after) {
  ForeignStage stage;
  stage.name = op.attachment_name.empty() ? op.name : fmt::format("{}({})", op.name, op.attachment_name);
  stage.step = step;
  stage.random_index = random_index;
  stage.counters = std::make_shared<StepCounters>();
  const std::vector<std::string> fields = step == 0 ? std::vector<std::string>() : fields_of(op);
  stage.merge = !fields.empty() && op.name == "map";
  stage.takes_all = fields.empty() && step > 0;
  for (size_t i = 0; i < before.size() && step > 0; ++i) {
    if (!fields.empty() && std::find(fields.begin(), fields.end(), before[i].name) == fields.end()) continue;
    stage.inputs.push_back(i);
    stage.input_schema.push_back(before[i]);
  }
  stage.output_schema = after;
  return stage;
}

Schema filter_answer() {
  Field keep;
  keep.name = "keep";
  keep.dtype = DType::kBool;
  return Schema({keep});
}

// Of a row, in fields of known shape.
uint64_t fixed_bytes(const Schema& schema) {
  uint64_t bytes = 0;
  for (const Field& field : schema) bytes += field.fixed_shape() ? row_bytes(field) : 0;
  return bytes;
}

int64_t fewest_rows(const UnitSource& source) {
  int64_t fewest = source.size();
  for (int64_t unit = 0; unit < source.units(); ++unit)
    fewest = std::min(fewest, source.unit_begin(unit + 1) - source.unit_begin(unit));
  return fewest;
}

constexpr uint32_t kPackedForm = 1;  // counts changes of how entries of tables are laid out

class Compiler {
 public:
  explicit Compiler(const CompileInput& input) : input_(input), indices_(random_indices(*input.description)) {}

  Result<std::shared_ptr<const ExecutionPlan>> run() {
    const Inference whole = infer(*input_.description, input_.source->schema(), catalog());
    const std::vector<OpSpec>& steps = input_.description->steps();
    const Schema& last = whole.schemas[input_.end - 1];
    Demand demand = input_.as_filter ? Demand(fields_of(steps[input_.end])) : Demand(last);
    const Reduced reduced = reduce(input_, whole, demand);
    plan_ = std::make_shared<ExecutionPlan>();
    plan_->source = input_.source;
    const auto units = std::dynamic_pointer_cast<const UnitSource>(input_.source);
    if (units) {
      FOREBAY_ASSIGN(plan_->source, with_wanted_fields(*units, demand));
    }
    const Inference inference = infer(reduced.description, plan_->source->schema(), catalog());
    plan_->selection = input_.selection;
    plan_->seed = input_.seed;
    for (const Field& field : input_.source->schema())
      plan_->fetches |= !units && field.fetched && demand.wants(field.name);
    if (steps[0].name == "dataset") {
      plan_->stages.push_back(foreign_stage(steps[0], 0, 0, {}, inference.schemas[0]));
    }
    size_t begin = 1;
    if (units) {
      FOREBAY_ASSIGN(begin, add_unit_ops(reduced, inference));
    }
    for (size_t i = begin; i < reduced.steps.size(); ++i) {
      if (steps[reduced.steps[i]].name == "cache") {
        FOREBAY_RETURN_IF_ERROR(add_cache(reduced, inference, i));
        continue;
      }
      FOREBAY_RETURN_IF_ERROR(add_step(reduced.steps[i], inference.schemas[i - 1], inference.schemas[i]));
    }
    kept_ = reduced.steps;
    Schema output = inference.schemas.back();
    if (input_.as_filter) {
      FOREBAY_RETURN_IF_ERROR(add_filter(steps[input_.end], output));
      output = filter_answer();
    }
    set_outputs(output);
    if (units_) {
      units_->gathers_rows = plan_->stages.empty() && !output.open_ended;
      plan_->units = units_;
    }
    return std::shared_ptr<const ExecutionPlan>(plan_);
  }

 private:
  Status add_step(size_t step, const Schema& before, const Schema& after) {
    const OpSpec& op = input_.description->steps()[step];
    if (op.name == "map") {
      if (!op.attachment) {
        plan_->stages.push_back(foreign_stage(op, step, indices_[step], before, after));
        return {};
      }
      add_native(op.name, native_map(std::static_pointer_cast<const MapAttachment>(op.attachment), before, after,
                                     fields_of(op)));
      return {};
    }
    const OpDef* def = catalog().find(op.name);
    FOREBAY_ASSIGN(std::unique_ptr<RecordOp> compiled, def->compile(op, before, indices_[step]));
    if (compiled) add_native(op.name, std::move(compiled));
    return {};
  }

  Status add_filter(const OpSpec& op, const Schema& before) {
    if (op.attachment) {
      add_native(op.name,
                 native_filter(std::static_pointer_cast<const FilterAttachment>(op.attachment), before, fields_of(op)));
    } else {
      plan_->stages.push_back(foreign_stage(op, input_.end, indices_[input_.end], before, filter_answer()));
    }
    return {};
  }

  static Result<std::shared_ptr<const UnitSource>> with_wanted_fields(const UnitSource& source, const Demand& demand) {
    std::vector<std::string> names;
    for (const Field& field : source.schema()) {
      if (demand.wants(field.name)) names.push_back(field.name);
    }
    if (names.empty() && source.schema().size() > 0) names.push_back(source.schema()[0].name);
    return source.with_fields(names);
  }

  // The steps that can be done to whole units, up to the first that looks at single samples: where the others begin.
  Result<size_t> add_unit_ops(const Reduced& reduced, const Inference& inference) {
    const std::vector<OpSpec>& steps = input_.description->steps();
    units_ = std::make_shared<UnitPlan>();
    units_->source = std::static_pointer_cast<const UnitSource>(plan_->source);
    size_t i = 1;
    for (; i < reduced.steps.size(); ++i) {
      const OpSpec& op = steps[reduced.steps[i]];
      const OpDef* def = catalog().find(op.name);
      if (op.name == "cache") {
        if (!input_.open_cache) continue;
        units_->cached_after = units_->ops.size();
        units_->cache_place = place_of(reduced, inference, i);
        const uint64_t least = fixed_bytes(inference.schemas[i]) * static_cast<uint64_t>(fewest_rows(*units_->source));
        FOREBAY_ASSIGN(units_->cache, input_.open_cache(reduced.steps[i], units_->cache_place, least));
        continue;
      }
      if (def == nullptr || !def->compile_columns) break;
      FOREBAY_ASSIGN(std::unique_ptr<ColumnOp> compiled, def->compile_columns(op, inference.schemas[i - 1]));
      if (!compiled) break;
      units_->ops.push_back({op.name, std::move(compiled), std::make_shared<StepCounters>()});
    }
    if (!units_->cache) units_->cached_after = units_->ops.size();
    units_->packed = PackedRows(inference.schemas[i - 1]);
    return i;
  }

  Status add_cache(const Reduced& reduced, const Inference& inference, size_t step) {
    if (!input_.open_cache) return {};
    CacheStage stage;
    stage.schema = inference.schemas[step];
    stage.place = place_of(reduced, inference, step);
    for (const Field& field : stage.schema) stage.from_source.push_back(untouched_field(field.name, reduced, step));
    Schema kept;  // what the source knows without reading is not
    for (size_t i = 0; i < stage.schema.size(); ++i) {
      if (!stage.from_source[i]) kept.push_back(stage.schema[i]);
    }
    FOREBAY_ASSIGN(stage.cache, input_.open_cache(reduced.steps[step], stage.place, fixed_bytes(kept)));
    plan_->cache_stage = plan_->stages.size();
    plan_->stages.emplace_back(std::move(stage));
    return {};
  }

  // The field of the source that `name` is before a step, where nothing has changed its values and it is known without reading.
  std::optional<size_t> untouched_field(std::string name, const Reduced& reduced, size_t step) const {
    for (size_t i = step; i-- > 1;) {
      const OpSpec& op = input_.description->steps()[reduced.steps[i]];
      if (op.name == "rename") {
        name = name_before(op, name);
        continue;
      }
      if (op.name == "select") continue;
      const std::vector<std::string> fields = fields_of(op);
      const bool makes = op.args.value("name", Json()) == Json(name) || (op.name == "decode_image" && name == "image");
      if (makes || (fields.empty() && op.name == "map") ||
          std::find(fields.begin(), fields.end(), name) != fields.end())
        return std::nullopt;
    }
    const std::optional<size_t> field = input_.source->schema().find(name);
    return field && !input_.source->schema()[*field].fetched ? field : std::nullopt;
  }

  static std::string name_before(const OpSpec& rename, const std::string& name) {
    for (const auto& [from, to] : rename.args["names"].items()) {
      if (to == Json(name)) return from;
    }
    return name;
  }

  // What an entry holds: the steps that were carried out, and the fields that came of them.
  Hash128 place_of(const Reduced& reduced, const Inference& inference, size_t cache) const {
    Hasher hasher;
    const Hash128 prefix = place_identity(*input_.description, reduced.steps[cache]);
    hasher.update_value(prefix.high);
    hasher.update_value(prefix.low);
    for (size_t i = 1; i < cache; ++i) {
      const OpSpec& op = input_.description->steps()[reduced.steps[i]];
      hasher.update(op.name + op.args.dump() + ";");
    }
    for (const Field& field : inference.schemas[cache]) hasher.update(field.to_string() + ";");
    hasher.update_value(kPackedForm);
    return hasher.digest();
  }

  void add_native(const std::string& name, std::unique_ptr<RecordOp> op) {
    if (plan_->stages.empty() || !std::holds_alternative<NativeStage>(plan_->stages.back()))
      plan_->stages.push_back(NativeStage());
    std::get<NativeStage>(plan_->stages.back()).ops.push_back({name, std::move(op), std::make_shared<StepCounters>()});
  }

  // Where the source has an output field whose values only went through steps that choose or name fields.
  std::optional<size_t> source_field(std::string name) const {
    const std::vector<OpSpec>& steps = input_.description->steps();
    for (size_t i = kept_.size(); i-- > 1;) {
      const OpSpec& op = steps[kept_[i]];
      if (op.name == "select") continue;
      if (op.name != "rename") return std::nullopt;
      name = name_before(op, name);
    }
    return input_.as_filter ? std::nullopt : input_.source->schema().find(name);
  }

  void set_outputs(const Schema& schema) {
    plan_->output_schema = schema;
    for (const Field& field : schema) {
      OutputField output;
      output.field = field;
      if (field.fixed_shape() && !field.pad_value) {
        output.row_bytes = static_cast<size_t>(field.shape.elements()) * dtype_size(field.dtype);
      }
      // A field that no operator has touched since the source can be copied by the source.
      const std::optional<size_t> from = source_field(field.name);
      output.gathered = output.row_bytes && from && input_.source->gathers(*from);
      output.source_field = from.value_or(0);
      plan_->outputs.push_back(std::move(output));
    }
  }

  const CompileInput& input_;
  const std::vector<uint32_t> indices_;
  std::vector<size_t> kept_;  // steps that take part
  std::shared_ptr<ExecutionPlan> plan_;
  std::shared_ptr<UnitPlan> units_;
};

Field any_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kAny;
  return field;
}

Field fetched_bytes(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kBytes;
  field.fetched = true;
  return field;
}

Field text_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kText;
  return field;
}

std::vector<Problem> check_source(const OpSpec& source) {
  static const std::set<std::string> kSources = {"images",  "files",   "manifest", "arrays",
                                                 "dataset", "parquet", "arrow"};
  if (kSources.contains(source.name)) return check_table(source);
  return {{fmt::format("0: {}", source.name), fmt::format("there is no source '{}'", source.name),
           "a pipeline begins with images, files, manifest, arrays, parquet, arrow or a Dataset"}};
}

}  // namespace

const Catalog& catalog() {
  static const Catalog instance = [] {
    std::vector<OpDef> ops = all_ops();
    ops.push_back(map_op());
    ops.push_back(filter_op());
    return Catalog(std::move(ops));
  }();
  return instance;
}

Schema announced_schema(const OpSpec& source) {
  Schema schema;
  if (source.name == "images") {
    Field image = fetched_bytes("image");
    image.image = true;
    schema.push_back(std::move(image));
    if (source.args.value("split_by", Json("folder")) == Json("folder")) {
      Field label;
      label.name = "label";
      label.dtype = DType::kInt64;
      schema.push_back(std::move(label));
    }
    schema.push_back(text_field("key"));
  } else if (source.name == "files" || source.name == "manifest") {
    schema.push_back(fetched_bytes("bytes"));
    schema.push_back(text_field("key"));
    schema.open_ended = source.name == "manifest";
  } else if (source.name == "arrays") {
    for (const std::string& name : field_list(source.args.value("fields", Json()))) schema.push_back(any_field(name));
  } else {
    schema.open_ended = true;
  }
  return schema;
}

std::vector<Problem> check(const Description& description, const Schema& source) {
  std::vector<Problem> problems = description.steps().empty()
                                      ? std::vector<Problem>{{"", "the pipeline is empty", "begin with a source"}}
                                      : check_source(description.steps().front());
  if (!problems.empty()) return problems;
  return infer(description, source, catalog()).problems;
}

std::vector<Problem> check(const Description& description) {
  return check(description, description.steps().empty() ? Schema() : announced_schema(description.steps().front()));
}

Status problems_as_status(const std::vector<Problem>& problems) {
  std::string text = problems.size() == 1 ? "the pipeline has a problem:"
                                          : fmt::format("the pipeline has {} problems:", problems.size());
  for (const Problem& problem : problems)
    text += fmt::format("\n  {}: {}; {}", problem.op, problem.message, problem.remedy);
  return invalid_argument(std::move(text));
}

Result<std::shared_ptr<const ExecutionPlan>> compile(const CompileInput& input) { return Compiler(input).run(); }

}  // namespace forebay
