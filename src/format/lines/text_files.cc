#include "format/lines/text_files.h"

#include <fmt/format.h>

#include "base/sniff.h"
#include "base/utf8.h"
#include "format/lines/text_form.h"

namespace forebay {

namespace {

Buffer buffer_of(std::string text) {
  auto kept = std::make_shared<std::string>(std::move(text));
  return Buffer(reinterpret_cast<uint8_t*>(kept->data()), kept->size(), kept);
}

class TextFiles final : public SampleSource {
 public:
  explicit TextFiles(std::shared_ptr<const Source> files) : files_(std::move(files)), schema_(files_->schema()) {
    schema_[0].name = "text";
    schema_[0].kind = FieldKind::kText;
  }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return files_->size(); }
  Hash128 version() const override { return files_->version(); }
  uint64_t index_bytes() const override { return files_->index_bytes(); }
  std::string key(int64_t id) const override { return files_->key(id); }
  std::string lasting_key(int64_t id) const override { return files_->lasting_key(id); }
  std::optional<Identity> identity(int64_t id) const override { return files_->identity(id); }
  const LearnedVersions* learned_versions() const override { return files_->learned_versions(); }
  Fetch fetch(int64_t id) const override { return files_->as_samples()->fetch(id); }

  Status load(int64_t id, Buffer fetched, Record& record) const override {
    FOREBAY_RETURN_IF_ERROR(files_->as_samples()->load(id, std::move(fetched), record));
    Value& text = record[0];
    if (text.kind == FieldKind::kAny) return {};  // the field was not requested
    FOREBAY_RETURN_IF_ERROR(check_text(text.bytes.span(), text.bytes.size()));
    const TextForm form = find_text_form(text.bytes.span(), true, LineRows::kAll);
    if (!form.plain()) text.bytes = buffer_of(utf16_as_utf8(text.bytes.span(), form.encoding));
    const std::span<const uint8_t> rest = without_byte_order_mark(text.bytes.span());
    if (!is_utf8(rest)) {
      return corrupt(fmt::format("byte {} begins no UTF-8; convert the file, or take fb.files, which gives bytes",
                                 first_not_utf8(text.bytes.span()).value_or(0)));
    }
    text = Value::of_text(text.bytes.slice(text.bytes.size() - rest.size(), rest.size()));
    return {};
  }

 private:
  const std::shared_ptr<const Source> files_;
  Schema schema_;
};

}  // namespace

std::shared_ptr<const Source> text_of_files(std::shared_ptr<const Source> files) {
  return std::make_shared<const TextFiles>(std::move(files));
}

}  // namespace forebay
