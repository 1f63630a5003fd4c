#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ops/column/column.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

constexpr size_t kMaxAxesBefore = Shape::kMaxRank - 2;  // one for the windows, one for the batch

struct WindowSize {
  int64_t n = 0, stride = 0;
  int64_t count(int64_t length) const { return length < n ? 0 : (length - n) / stride + 1; }
};

Status unfit_for_windows(const Field& field, int64_t n) {
  return unsupported(fmt::format("the field {} cannot be cut into windows of {}", field.to_string(), n));
}

bool suits_windows(const Field& field, const WindowSize& size) {
  return field.fixed_shape() && field.shape.rank() > 0 && field.shape.rank() <= kMaxAxesBefore &&
         field.shape[0] >= size.n;
}

Shape windowed_shape(const Shape& shape, const WindowSize& size) {
  Shape made{size.count(shape[0]), size.n};
  for (size_t axis = 1; axis < shape.rank(); ++axis) made.push_back(shape[axis]);
  return made;
}

class Window final : public ColumnOp {
 public:
  Window(std::vector<std::string> fields, WindowSize size) : fields_(std::move(fields)), size_(size) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    std::vector<size_t> found;
    uint64_t bytes = 0;
    for (const std::string& name : fields_) {
      FOREBAY_ASSIGN(const size_t column, find_column(columns, name, ColumnNeed::kNumbersAndBool));
      const Field& field = columns.schema[column];
      if (!suits_windows(field, size_)) return unfit_for_windows(field, size_.n);
      found.push_back(column);
      bytes += window_bytes(field) * static_cast<uint64_t>(size_.count(field.shape[0]) * columns.rows);
    }
    FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes));
    for (const size_t column : found) cut(columns, column);
    return {};
  }

 private:
  uint64_t window_bytes(const Field& field) const {
    return row_bytes(field) / static_cast<uint64_t>(field.shape[0]) * static_cast<uint64_t>(size_.n);
  }

  void cut(Columns& columns, size_t column) const {
    Field& field = columns.schema[column];
    const int64_t count = size_.count(field.shape[0]);
    const size_t row = row_bytes(field), window = window_bytes(field);
    const size_t step = row / static_cast<size_t>(field.shape[0]) * static_cast<size_t>(size_.stride);
    ColumnValues made{Buffer::allocate(window * static_cast<size_t>(count * columns.rows)), {}};
    const uint8_t* from = columns.values[column].values.data();
    uint8_t* to = made.values.data();
    for (int64_t i = 0; i < columns.rows; ++i, from += row) {
      for (int64_t k = 0; k < count && window > 0; ++k, to += window)
        std::memcpy(to, from + static_cast<size_t>(k) * step, window);
    }
    columns.values[column] = std::move(made);
    field.shape = windowed_shape(field.shape, size_);
  }

  std::vector<std::string> fields_;
  WindowSize size_;
};

WindowSize window_size(const Args& args) {
  const int64_t n = args.integer("n");
  return {n, args.has("stride") ? args.integer("stride") : n};
}

void infer_window(const Args& args, Schema& schema, Problems& problems) {
  const WindowSize size = window_size(args);
  if (size.n < 1) problems.add(fmt::format("n is {}", size.n), "give how many elements a window has, at least 1");
  if (size.stride < 1) problems.add(fmt::format("stride is {}", size.stride), "give a stride of at least 1");
  for (const size_t index :
       check_columns(args.names("field"), ColumnNeed::kNumbersAndBool, "window", schema, problems)) {
    Field& field = schema[index];
    if (field.kind == FieldKind::kAny || problems.any()) continue;
    if (!field.fixed_shape() || field.shape.rank() == 0) {
      problems.add(fmt::format("the field {} has no axis of known length", field.to_string()),
                   "put .pad(field, length=…) before, or take windows from the source: fb.hdf5(…, window=…)");
    } else if (field.shape.rank() > kMaxAxesBefore) {
      problems.add(fmt::format("the field '{}' has {} axes already", field.name, field.shape.rank()), "leave it out");
    } else if (field.shape[0] < size.n) {
      problems.add(fmt::format("the field '{}' has {} elements, fewer than a window", field.name, field.shape[0]),
                   "give a smaller n");
    } else {
      field.shape = windowed_shape(field.shape, size);
    }
  }
}

Result<std::unique_ptr<ColumnOp>> compile_window(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<Window>(args.names("field"), window_size(args)));
}

}  // namespace

OpDef window_op() {
  return make_op(
      {.name = "window",
       .group = OpGroup::kColumn,
       .help = R"(Windows over the first axis of a sample: (length, ...) becomes (windows, n, ...).

What is left at the end, shorter than a window, goes. Windows over a whole data set, of which each is a sample, are the source's:
`fb.hdf5(..., window=n)`.)",
       .args = {{"n", ArgType::kInt, true, nullptr, "elements of a window"},
                column_arg("a column of numbers of known shape, or a list of columns"),
                {"stride", ArgType::kInt, false, nullptr,
                 "from the beginning of one window to that of the next; `n` by default, so that no element is in two"}},
       .infer = infer_window,
       .compile_columns = compile_window,
       .each = true});
}

}  // namespace forebay
