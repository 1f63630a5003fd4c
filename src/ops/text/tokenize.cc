#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "codec/tokenizer/text_tokenizer.h"
#include "format/files/mapped_file.h"
#include "ops/column/column.h"
#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/text/text_column.h"

namespace forebay {
namespace {

class Tokenize final : public ColumnOp {
 public:
  Tokenize(std::shared_ptr<const TextTokenizer> tokenizer, std::string field, std::string into,
           TextTokenizer::EncodeOptions options)
      : tokenizer_(std::move(tokenizer)), field_(std::move(field)), into_(std::move(into)), options_(options) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    FOREBAY_ASSIGN(const size_t field, find_text(columns, field_));
    const ColumnValues& texts = columns.values[field];
    ColumnValues made;
    made.offsets = Buffer::allocate(static_cast<size_t>(columns.rows + 1) * sizeof(int64_t));
    auto* const offsets = reinterpret_cast<int64_t*>(made.offsets.data());
    offsets[0] = 0;
    // At most about one id per byte, and a copy; usually a quarter of it is used.
    const auto bytes = static_cast<uint64_t>(texts.offset()[columns.rows] - texts.offset()[0]);
    FOREBAY_RETURN_IF_ERROR(memory.reserve(3 * sizeof(int32_t) * (bytes / 2 + ids_around(columns.rows)) +
                                           tokenizer_->working_bytes(longest(texts, columns.rows))));
    std::vector<int32_t> ids;
    BadRows bad;
    for (int64_t row = 0; row < columns.rows; ++row) {
      const std::span<const uint8_t> text = text_of(texts, row);
      Status problem =
          is_utf8(text) ? tokenizer_->encode({reinterpret_cast<const char*>(text.data()), text.size()}, options_, ids)
                        : not_utf8_error(text);
      if (!problem.ok()) bad.emplace(row, std::move(problem).with_operator("tokenize"));
      // A bad row becomes an empty one, so that later rows keep their places.
      offsets[row + 1] = static_cast<int64_t>(ids.size());
    }
    // The number of ids is known only now. A buffer of the exact size wastes no memory while the
    // batch lives.
    made.values = Buffer::allocate(ids.size() * sizeof(int32_t));
    if (!ids.empty()) std::memcpy(made.values.data(), ids.data(), made.values.size());
    columns.values[field] = std::move(made);
    set_tokens(columns.schema[field], into_);
    mark_bad(columns, std::move(bad));
    return {};
  }

  static void set_tokens(Field& field, const std::string& name) {
    field.name = name;
    field.kind = FieldKind::kTensor;
    field.dtype = DType::kInt32;
    field.shape = Shape{Shape::kUnknown};
    field.image = false;
  }

 private:
  static uint64_t longest(const ColumnValues& texts, int64_t rows) {
    int64_t most = 0;
    for (int64_t row = 0; row < rows; ++row) most = std::max(most, texts.offset()[row + 1] - texts.offset()[row]);
    return static_cast<uint64_t>(most);
  }
  uint64_t ids_around(int64_t rows) const {
    return static_cast<uint64_t>(rows) * (options_.special ? tokenizer_->special_id_count() : 0);
  }

  const std::shared_ptr<const TextTokenizer> tokenizer_;
  const std::string field_, into_;
  const TextTokenizer::EncodeOptions options_;
};

void infer_tokenize(const Args& args, Schema& schema, Problems& problems) {
  if (!args.has("hash")) {
    problems.add(
        fmt::format("'{}' could not be read when the step was described, and its hash is not given", args.text("file")),
        "give the path of a tokenizer.json, or hash= of the one that will be there");
  }
  if (args.has("max_length") && args.integer("max_length") < 1)
    problems.add(fmt::format("max_length is {}", args.integer("max_length")), "give a length of at least 1");
  const std::string into = args.text("into");
  for (const size_t index : check_texts({args.text("field")}, "tokenize", schema, problems)) {
    if (into.empty() || (schema.find(into) && *schema.find(into) != index))
      return problems.add(fmt::format("there is a field '{}' already", into), "give another name with into=");
    Tokenize::set_tokens(schema[index], into);
  }
}

Result<std::shared_ptr<const TextTokenizer>> read_tokenizer(const std::string& path, const std::string& hash) {
  FOREBAY_ASSIGN(const auto file, MappedFile::open(path));
  if (file->size() > TextTokenizer::kMostFileBytes)
    return unsupported(fmt::format("it has {} bytes; is it a tokenizer.json?", file->size())).with_key(path);
  // A copy, because the file may become shorter while it is read.
  std::vector<uint8_t> bytes(file->size());
  FOREBAY_RETURN_IF_ERROR(file->read([&] { std::memcpy(bytes.data(), file->data(), bytes.size()); }));
  // Checked before parsing: another file gives other ids, and so a different data set under the
  // same state.
  if (const std::string is = hash128(bytes.data(), bytes.size()).to_string(); is != hash) {
    return Status(
               Code::kStateMismatch,
               fmt::format(
                   "the tokenizer has changed since the pipeline was made: its hash is {}, not {}; make the step anew, "
                   "or restore the file",
                   is, hash))
        .with_key(path);
  }
  Result<std::shared_ptr<const TextTokenizer>> parsed = TextTokenizer::parse(bytes);
  if (!parsed.ok()) return std::move(parsed).status().with_key(path);
  return parsed;
}

Result<std::unique_ptr<ColumnOp>> compile_tokenize(const Args& args, const Schema&) {
  FOREBAY_ASSIGN(auto tokenizer, read_tokenizer(args.text("file"), args.text("hash")));
  TextTokenizer::EncodeOptions options{.special = args.json("special").get<bool>()};
  if (args.has("max_length")) options.most = static_cast<size_t>(args.integer("max_length"));
  if (options.special && options.most < tokenizer->special_id_count())
    return invalid_argument(
               fmt::format(
                   "max_length is {}, and the tokenizer puts {} ids around each text; give more, or special=false",
                   options.most, tokenizer->special_id_count()))
        .with_operator("tokenize");
  return std::unique_ptr<ColumnOp>(
      std::make_unique<Tokenize>(std::move(tokenizer), args.text("field"), args.text("into"), options));
}

FieldUse tokenize_uses(const OpSpec& op, const Schema&) {
  const auto named = [&](const char* arg, const char* otherwise) {
    const Json given = op.args.value(arg, Json(otherwise));
    return given.is_string() ? given.get<std::string>() : std::string();
  };
  return {{named("field", "text")}, {named("into", "tokens")}};
}

}  // namespace

OpDef tokenize_op() {
  return make_op(
      {.name = "tokenize",
       .group = OpGroup::kText,
       .help =
           R"(Text to the ids that the package `tokenizers` gives for it, int32, by a native encoder: a ragged field, or padded with
`.pad("tokens", length=...)`.

Unsupported when a loader is opened for tokenizers with parts that are not built in (docs/reference/text.md has the list): call these in `.map`. A
text that a normalizer makes more than 16 times as long is Unsupported, too.)",
       .args = {{"file", ArgType::kPath, true, nullptr,
                 "a tokenizer.json, a local file. It may be BPE of bytes (GPT-2, RoBERTa, Llama 3, Qwen 2, ...) or of "
                 "characters (Llama 2, Mistral, Gemma, ...), WordPiece (BERT, ...) or Unigram (T5, XLNet, XLM-R, ...). "
                 "Its `truncation` and `padding` are not looked at: see `max_length` and `.pad`.",
                 ArgForm::kPlain, ArgUse::kPlace},
                implied({"field", ArgType::kText, false, "text", "the field of str; the ids take its place"}),
                implied({"into", ArgType::kText, false, "tokens", "name of the field of ids"}),
                {"special", ArgType::kBool, false, true,
                 "adds the ids that the tokenizer puts around each text, as `encode(add_special_tokens=...)`"},
                {"max_length", ArgType::kInt, false, nullptr,
                 "ids of a text at most, these included, as `enable_truncation(max_length)`: what is beyond them is "
                 "cut off; all by default"},
                {"hash", ArgType::kFileHash, false, nullptr,
                 "xxh3-128 of the file, part of the pipeline's fingerprint; by default the file is read now. A loader "
                 "refuses another file with StateMismatch."}},
       .infer = infer_tokenize,
       .compile_columns = compile_tokenize,
       .uses = tokenize_uses});
}

}  // namespace forebay
