#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ops/column/aggregated_field.h"
#include "ops/column/column.h"
#include "ops/definition/element_types.h"
#include "ops/definition/registry.h"
#include "pipeline/catalog.h"

namespace forebay {
namespace {

/// Reads the series of one column, and those they are multiplied with, as float64.
class SeriesReader {
 public:
  SeriesReader(const Columns& columns, size_t field, std::optional<size_t> times)
      : dtype_(columns.schema[field].dtype), first_(columns.values[field].values.data()) {
    if (!times) return;
    times_dtype_ = columns.schema[*times].dtype;
    times_first_ = columns.values[*times].values.data();
  }

  SeriesView view(int64_t begin, int64_t count, int64_t step) const {
    return {first_ + begin * static_cast<int64_t>(dtype_size(dtype_)), count, step};
  }
  /// `times_begin` is the first element of the other series.
  void read(int64_t begin, int64_t times_begin, int64_t count, int64_t step, std::vector<double>& series,
            std::vector<double>& other) const {
    gather_series(dtype_, view(begin, count, step), series.data());
    if (times_first_ == nullptr) return;
    gather_series(times_dtype_,
                  {times_first_ + times_begin * static_cast<int64_t>(dtype_size(times_dtype_)), count, step},
                  other.data());
    for (int64_t i = 0; i < count; ++i) series[static_cast<size_t>(i)] *= other[static_cast<size_t>(i)];
  }

 private:
  DType dtype_, times_dtype_ = DType::kFloat64;
  const uint8_t* first_;
  const uint8_t* times_first_ = nullptr;
};

void store_number(DType dtype, uint8_t* out, int64_t index, double value) {
  if (dtype == DType::kFloat32)
    store_element(out, index, static_cast<float>(value));
  else
    store_element(out, index, value);
}

/// Location of one series in its column, and its number.
struct OneSeries {
  int64_t begin = 0, times_begin = 0, count = 0, step = 1;
  int64_t number = 0;  ///< index of this series among all
};

struct Aggregated {
  SeriesFunction function;
  Field field;
  ColumnValues values;
};

class Aggregate final : public ColumnOp {
 public:
  explicit Aggregate(AggregateSpec options) : options_(std::move(options)) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    for (const std::string& name : options_.fields) {
      // Looked up for each field: add() removes columns that user code made, which moves later
      // columns.
      std::optional<size_t> times;
      if (!options_.times.empty()) {
        FOREBAY_ASSIGN(times, find_column(columns, options_.times, ColumnNeed::kNumbers));
      }
      FOREBAY_RETURN_IF_ERROR(one_field(columns, name, times, memory));
    }
    return {};
  }

 private:
  Status one_field(Columns& columns, const std::string& name, std::optional<size_t> times, WorkMemory& memory) const {
    FOREBAY_ASSIGN(const size_t column, find_column(columns, name, ColumnNeed::kNumbers));
    const Field& field = columns.schema[column];
    if (const auto problem = series_problem(field, options_); !problem.first.empty())
      return unsupported(fmt::format("the field {}: {}", field.to_string(), problem.first));
    BadRows bad;
    if (times) FOREBAY_RETURN_IF_ERROR(check_pair(columns, column, *times, bad));
    const int64_t longest = longest_series(columns, column);
    FOREBAY_ASSIGN(std::vector<Aggregated> made, make_room(columns, column, longest, memory));
    // The series are processed one by one, so they share one buffer.
    std::vector<double> series(static_cast<size_t>(longest)), other(times ? series.size() : 0);
    const SeriesReader reader(columns, column, times);
    visit_series(columns, column, times, bad, [&](const OneSeries& one) {
      reader.read(one.begin, one.times_begin, one.count, one.step, series, other);
      const auto numbers = std::span(series).first(static_cast<size_t>(one.count));
      for (Aggregated& each : made) put(each, field.dtype, one, reader, numbers);
    });
    for (Aggregated& each : made) add(columns, std::move(each));
    mark_bad(columns, std::move(bad));
    return {};
  }

  /// Fields that are multiplied must have one shape, and their lists one length per row.
  Status check_pair(const Columns& columns, size_t column, size_t times, BadRows& bad) const {
    const Field& one = columns.schema[column];
    const Field& other = columns.schema[times];
    if (is_ragged(one) != is_ragged(other) || (!is_ragged(one) && one.shape != other.shape))
      return unsupported(fmt::format("{} and {} are multiplied with each other; that needs one shape", one.to_string(),
                                     other.to_string()));
    for (int64_t row = 0; is_ragged(one) && row < columns.rows; ++row) {
      if (length_of(columns, column, row) != length_of(columns, times, row))
        bad.emplace(
            row, corrupt(fmt::format("'{}' has {} elements here and '{}' {}", one.name, length_of(columns, column, row),
                                     other.name, length_of(columns, times, row))));
    }
    return {};
  }

  static int64_t length_of(const Columns& columns, size_t column, int64_t row) {
    const int64_t* const offset = columns.values[column].offset();
    return offset[row + 1] - offset[row];
  }

  int64_t longest_series(const Columns& columns, size_t column) const {
    const Field& field = columns.schema[column];
    if (!is_ragged(field)) return layout_of(field, *axis_of(field, options_.axis), options_.every).length;
    int64_t longest = 0;
    for (int64_t row = 0; row < columns.rows; ++row) longest = std::max(longest, length_of(columns, column, row));
    return longest;
  }

  Result<std::vector<Aggregated>> make_room(const Columns& columns, size_t column, int64_t longest,
                                            WorkMemory& memory) const {
    const Field& field = columns.schema[column];
    std::vector<Aggregated> made;
    uint64_t bytes = 3 * static_cast<uint64_t>(longest) * sizeof(double);
    std::vector<uint64_t> each;
    for (const std::string& function : options_.functions) {
      Aggregated one{*series_function(function), aggregated(field, options_, function), {}};
      const uint64_t elements = is_ragged(one.field) ? static_cast<uint64_t>(elements_of(columns, column))
                                                     : static_cast<uint64_t>(columns.rows * one.field.shape.elements());
      each.push_back(elements * dtype_size(one.field.dtype));
      bytes += each.back() + (is_ragged(one.field) ? columns.values[column].offsets.size() : 0);
      made.push_back(std::move(one));
    }
    FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes));
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].values.values = Buffer::allocate(each[i]);
      // Bad rows are not written to, but their bytes are still read by others.
      if (each[i] > 0) std::memset(made[i].values.values.data(), 0, each[i]);
      if (is_ragged(made[i].field)) made[i].values.offsets = offsets_from_zero(columns, column);
    }
    return made;
  }

  static int64_t elements_of(const Columns& columns, size_t column) {
    const int64_t* const offset = columns.values[column].offset();
    return offset[columns.rows] - offset[0];
  }

  static Buffer offsets_from_zero(const Columns& columns, size_t column) {
    const int64_t* const offset = columns.values[column].offset();
    Buffer made = Buffer::allocate(static_cast<size_t>(columns.rows + 1) * sizeof(int64_t));
    auto* const out = reinterpret_cast<int64_t*>(made.data());
    for (int64_t row = 0; row <= columns.rows; ++row) out[row] = offset[row] - offset[0];
    return made;
  }

  bool has_extreme() const {
    return std::ranges::any_of(options_.functions,
                               [](const std::string& name) { return name == "min" || name == "max"; });
  }

  template <typename Visit>
  void visit_series(const Columns& columns, size_t column, std::optional<size_t> times, BadRows& bad,
                    Visit visit) const {
    const Field& field = columns.schema[column];
    if (!is_ragged(field)) {
      const SeriesLayout layout = layout_of(field, *axis_of(field, options_.axis), options_.every);
      const int64_t outer = layout.outer * layout.pieces * columns.rows;
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < layout.inner; ++i) {
          const int64_t begin = o * layout.length * layout.inner + i;
          visit({begin, begin, layout.length, layout.inner, o * layout.inner + i});
        }
      }
      return;
    }
    for (int64_t row = 0; row < columns.rows; ++row) {
      const int64_t count = length_of(columns, column, row);
      // The sum of an empty list is 0, but it has no smallest or largest element.
      if (count == 0 && has_extreme())
        bad.emplace(row, corrupt(fmt::format("the field '{}' has no element here, so none is the smallest or largest",
                                             field.name)));
      // The two lists of a bad row differ in length; multiplying them would read past the shorter
      // one.
      if (bad.contains(row)) continue;
      visit({columns.values[column].offset()[row], times ? columns.values[*times].offset()[row] : 0, count, 1, row});
    }
  }

  void put(Aggregated& made, DType from, const OneSeries& one, const SeriesReader& reader,
           std::span<const double> series) const {
    uint8_t* const out = made.values.values.data();
    const DType dtype = made.field.dtype;
    switch (made.function) {
      case SeriesFunction::kMin:
      case SeriesFunction::kMax: {
        const int64_t at = one.number * static_cast<int64_t>(dtype_size(dtype));
        // The extreme of a product need not be an element of the column, so it is taken from the
        // computed series.
        const SeriesView products{reinterpret_cast<const uint8_t*>(series.data()), one.count, 1};
        if (options_.times.empty())
          series_extreme(from, made.function, reader.view(one.begin, one.count, one.step), out + at);
        else
          series_extreme(DType::kFloat64, made.function, products, out + at);
        return;
      }
      case SeriesFunction::kCusum: {
        std::vector<double> sums(series.size());
        series_cusum(series, sums.data());
        const int64_t first = is_ragged(made.field)
                                  ? reinterpret_cast<const int64_t*>(made.values.offsets.data())[one.number]
                                  : one.begin;
        for (size_t i = 0; i < sums.size(); ++i)
          store_number(dtype, out, first + static_cast<int64_t>(i) * one.step, sums[i]);
        return;
      }
      default: store_number(dtype, out, one.number, series_number(made.function, series));
    }
  }

  static void add(Columns& columns, Aggregated made) {
    if (const auto there = columns.schema.find(made.field.name)) {  // user code may have made one
      columns.schema.erase(*there);
      columns.values.erase(columns.values.begin() + static_cast<std::ptrdiff_t>(*there));
    }
    columns.schema.push_back(std::move(made.field));
    columns.values.push_back(std::move(made.values));
  }

  const AggregateSpec options_;
};

AggregateSpec aggregate_options(const Args& args) {
  AggregateSpec options{args.names("functions"), args.names("field"), "", args.integer("axis"), 0};
  if (args.has("times")) options.times = args.text("times");
  if (args.has("every")) options.every = args.integer("every");
  return options;
}

void check_functions(const AggregateSpec& options, Problems& problems) {
  if (options.functions.empty())
    problems.add("no function is named", fmt::format("there are {}", series_function_names()));
  for (size_t i = 0; i < options.functions.size(); ++i) {
    const std::string& name = options.functions[i];
    if (!series_function(name))
      problems.add(fmt::format("'{}' is no function", name), fmt::format("there are {}", series_function_names()));
    else if (std::find(options.functions.begin(), options.functions.begin() + static_cast<std::ptrdiff_t>(i), name) !=
             options.functions.begin() + static_cast<std::ptrdiff_t>(i))
      problems.add(fmt::format("'{}' is named twice", name), "name it once");
  }
}

void check_times(const AggregateSpec& options, const Schema& schema, const std::vector<size_t>& fields,
                 Problems& problems) {
  if (options.times.empty()) return;
  const std::vector<size_t> found = check_columns({options.times}, ColumnNeed::kNumbers, "aggregate", schema, problems);
  if (found.empty() || schema[found[0]].kind == FieldKind::kAny) return;
  const Field& other = schema[found[0]];
  for (const size_t index : fields) {
    const Field& field = schema[index];
    if (field.kind != FieldKind::kAny && field.shape != other.shape)
      problems.add(fmt::format("{} and {} are multiplied with each other", field.to_string(), other.to_string()),
                   "name fields of one shape");
  }
}

void infer_aggregate(const Args& args, Schema& schema, Problems& problems) {
  const AggregateSpec options = aggregate_options(args);
  check_functions(options, problems);
  if (args.has("every") && options.every < 1)
    problems.add(fmt::format("every is {}", options.every), "give how many elements a piece has, at least 1");
  const std::vector<size_t> fields = check_columns(options.fields, ColumnNeed::kNumbers, "aggregate", schema, problems);
  check_times(options, schema, fields, problems);
  if (problems.any()) return;
  for (const size_t index : fields) {
    const Field field = schema[index];
    const auto problem =
        field.kind == FieldKind::kAny ? std::pair<std::string, std::string>() : series_problem(field, options);
    if (!problem.first.empty()) {
      problems.add(fmt::format("the field {}: {}", field.to_string(), problem.first), problem.second);
      continue;
    }
    for (const std::string& function : options.functions) {
      Field made;
      made.name = aggregate_name(field.name, options.times, function);
      made.kind = FieldKind::kAny;
      if (field.kind != FieldKind::kAny) made = aggregated(field, options, function);
      if (schema.find(made.name))
        problems.add(fmt::format("there is a field '{}' already", made.name),
                     "give that one another name by .rename before");
      else
        schema.push_back(std::move(made));
    }
  }
}

Result<std::unique_ptr<ColumnOp>> compile_aggregate(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<Aggregate>(aggregate_options(args)));
}

FieldUse aggregate_uses(const OpSpec& spec, const Schema&) {
  const auto named = [&](const char* arg) {
    const auto given = spec.args.find(arg);
    return given == spec.args.end() ? std::vector<std::string>() : field_list(*given);
  };
  FieldUse use;
  use.reads = named("field");
  const std::vector<std::string> times = named("times");
  for (const std::string& field : use.reads) {
    for (const std::string& function : named("functions"))
      use.makes.push_back(aggregate_name(field, times.empty() ? "" : times[0], function));
  }
  use.reads.insert(use.reads.end(), times.begin(), times.end());
  return use;
}

}  // namespace

OpDef aggregate_op() {
  return make_op(
      {.name = "aggregate",
       .group = OpGroup::kColumn,
       .help = R"(Numbers made of a series: `<field>_<function>` beside the field, the same bits on every machine.

`sum`, `mean`, `std` (of the population, as NumPy's), `rms` (the root of the mean of squares), `min`, `max`, and `cusum`, the running sum of
deviations from the mean, which is as long as its series. Computed in float64, each series in eight interleaved parts, which are added
up in a fixed order; given as float64 for float64 and integers, float32 for the smaller floats; `min` and `max` in the field's type. NaN
goes through.)",
       .args = {{"functions", ArgType::kFields, true, nullptr, "one of these, or several"},
                column_arg("a column of numbers or a list of columns: tensors along `axis`, lists as a whole"),
                {"every", ArgType::kInt, false, nullptr,
                 "makes one number of each so many elements, in place of one of the whole axis, whose length it must "
                 "divide",
                 ArgForm::kNamed},
                {"axis", ArgType::kInt, false, 0, "the axis of a sample that the series lie along; -1 is the last",
                 ArgForm::kNamed},
                {"times", ArgType::kText, false, nullptr,
                 "a field of the same shape whose elements these are multiplied with before: "
                 "`<field>_<times>_<function>`, as float64. The mean of voltage times current is the active power.",
                 ArgForm::kNamed}},
       .infer = infer_aggregate,
       .compile_columns = compile_aggregate,
       .uses = aggregate_uses});
}

}  // namespace forebay
