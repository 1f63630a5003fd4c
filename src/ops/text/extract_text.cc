#include <fmt/format.h>

#include "base/utf8.h"
#include "codec/html/html_text.h"
#include "ops/column/column.h"
#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/text/text_column.h"

namespace forebay {
namespace {

class ExtractText final : public ColumnOp {
 public:
  explicit ExtractText(std::vector<std::string> fields) : fields_(std::move(fields)) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    for (const std::string& name : fields_) {
      FOREBAY_ASSIGN(const size_t field, find_text(columns, name));
      FOREBAY_RETURN_IF_ERROR(extract(columns, field, memory));
    }
    return {};
  }

 private:
  static Status extract(Columns& columns, size_t field, WorkMemory& memory) {
    const ColumnValues& pages = columns.values[field];
    ColumnValues made;
    made.offsets = Buffer::allocate(static_cast<size_t>(columns.rows + 1) * sizeof(int64_t));
    auto* const offsets = reinterpret_cast<int64_t*>(made.offsets.data());
    offsets[0] = 0;
    std::string text;
    BadRows bad;
    for (int64_t row = 0; row < columns.rows; ++row) {
      const std::span<const uint8_t> page = text_of(pages, row);
      // Only a zero byte gets longer: three bytes.
      FOREBAY_RETURN_IF_ERROR(memory.reserve(page.size() + page.size() / 2));
      Status done = is_utf8(page) ? append_html_text(page, memory, text) : not_utf8_error(page);
      if (!done.ok() && !is_data_error(done.code())) return done;
      if (!done.ok()) bad.emplace(row, std::move(done).with_operator("extract_text"));
      offsets[row + 1] = static_cast<int64_t>(text.size());
    }
    made.values = buffer_of_text(text);
    columns.values[field] = std::move(made);
    columns.schema[field].kind = FieldKind::kText;
    columns.schema[field].image = false;
    mark_bad(columns, std::move(bad));
    return {};
  }

  const std::vector<std::string> fields_;
};

void infer_extract_text(const Args& args, Schema& schema, Problems& problems) {
  for (const size_t index : check_texts(args.names("field"), "extract_text", schema, problems)) {
    schema[index].kind = schema[index].kind == FieldKind::kAny ? FieldKind::kAny : FieldKind::kText;
    schema[index].image = false;
  }
}

Result<std::unique_ptr<ColumnOp>> compile_extract_text(const Args& args, const Schema&) {
  // An empty page loads the parser here and not per sample, where a failure could pass for a bad sample.
  WorkMemory memory;
  std::string none;
  FOREBAY_RETURN_IF_ERROR(append_html_text({}, memory, none));
  return std::unique_ptr<ColumnOp>(std::make_unique<ExtractText>(args.names("field")));
}

}  // namespace

OpDef extract_text_op() {
  return make_op({.name = "extract_text",
                  .group = OpGroup::kText,
                  .help = R"(HTML to its text.

Scripts, styles, the head and comments are left out; a line ends where a block (`p`, `div`, `li`, `tr`, ...) begins or ends and at `br`;
runs of blanks are one blank; in `pre` and `textarea` text stays as it is. What is malformed has a text, too.

Corrupt for what is not UTF-8; Unsupported for pages of more than 64 MiB, and for elements nested more than 1,024 deep.)",
                  .args = {implied({"field", ArgType::kFields, false, "text",
                                    "fields of str or bytes (UTF-8); the text takes its place"})},
                  .infer = infer_extract_text,
                  .compile_columns = compile_extract_text,
                  .each = true});
}

}  // namespace forebay
