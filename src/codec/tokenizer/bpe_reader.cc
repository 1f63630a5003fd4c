#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "codec/tokenizer/bpe_tokenizer.h"
#include "codec/tokenizer/bpe_vocabulary.h"
#include "codec/tokenizer/file_parts.h"

namespace forebay {

namespace {

using nlohmann::json;
using namespace tokenizer_file;

/// The characters that stand for bytes: printable ones for themselves, the others numbered after
/// U+00FF.
std::array<std::string, 256> byte_names() {
  std::array<std::string, 256> names;
  uint32_t others = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    append_utf8(printable ? byte : others++, names[byte]);
  }
  return names;
}

}  // namespace

/// Fills a tokenizer from a file, part by part.
class BpeTokenizerReader {
 public:
  explicit BpeTokenizerReader(const json& file) : file_(file) {}

  Result<std::shared_ptr<const TextTokenizer>> read() {
    FOREBAY_ASSIGN(made_->normalizer_, Normalizer::parse(member(file_, "normalizer")));
    FOREBAY_RETURN_IF_ERROR(read_vocabulary());
    FOREBAY_RETURN_IF_ERROR(read_words(member(file_, "pre_tokenizer")));
    FOREBAY_RETURN_IF_ERROR(read_added());
    FOREBAY_RETURN_IF_ERROR(read_special_ids(member(file_, "post_processor"), made_->prefix_ids_, made_->suffix_ids_));
    return std::shared_ptr<const TextTokenizer>(std::move(made_));
  }

 private:
  Status read_vocabulary() {
    const json& model = member(file_, "model");
    FOREBAY_ASSIGN(BpeVocabulary vocabulary, BpeVocabulary::read(model));
    if (!vocabulary.prefix.empty()) return unsupported_tokenizer("has a continuing_subword_prefix and cuts bytes");
    made_->merges_ = std::move(vocabulary.merges);
    made_->unknown_ = vocabulary.unknown;
    made_->fuses_unknown_ = bool_member(model, "fuse_unk", false);
    ids_ = std::move(vocabulary.ids);
    return read_bytes(vocabulary.suffix, bool_member(model, "ignore_merges", false),
                      bool_member(model, "byte_fallback", false));
  }

  Status read_bytes(const std::string& suffix, bool ignores_merges, bool falls_back) {
    const std::array<std::string, 256> names = byte_names();
    std::unordered_map<std::string, char> byte_of;
    for (size_t byte = 0; byte < names.size(); ++byte) {
      byte_of[names[byte]] = static_cast<char>(byte);
      made_->byte_ids_[byte] = id_or_none(names[byte]);
      made_->last_byte_ids_[byte] = suffix.empty() ? made_->byte_ids_[byte] : id_or_none(names[byte] + suffix);
      if (falls_back && (is_in_byte_tokens(names[byte]) || is_in_byte_tokens(names[byte] + suffix)))
        return unsupported_tokenizer(fmt::format("has no token for the byte {} and falls back to others", byte));
    }
    made_->ignores_merges_ = ignores_merges;
    for (const auto& [text, id] : ids_) {
      // Stored as bytes, because words are looked up as bytes and not by the names of bytes.
      if (ignores_merges) add_whole_word(text, id, byte_of);
    }
    return {};
  }

  /// True if the text has no token and the fallback replaces it by tokens of its UTF-8 bytes, which
  /// requires a token for each of them.
  bool is_in_byte_tokens(const std::string& text) const {
    return !ids_.contains(text) && std::ranges::all_of(text, [&](char byte) {
      return ids_.contains(fmt::format("<0x{:02X}>", static_cast<uint8_t>(byte)));
    });
  }

  int32_t id_or_none(const std::string& text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? BpeTokenizer::kNone : found->second;
  }

  void add_whole_word(const std::string& text, int32_t id, const std::unordered_map<std::string, char>& byte_of) {
    std::string bytes;
    for (size_t at = 0; at < text.size();) {
      const size_t length = static_cast<uint8_t>(text[at]) < 0x80 ? 1 : 2;
      const auto byte = byte_of.find(text.substr(at, length));
      if (byte == byte_of.end()) return;  // no word contains this character
      bytes += byte->second;
      at += length;
    }
    made_->whole_words_.emplace(std::move(bytes), id);
  }

  Status read_words(const json& words) {
    json parts = type_of(words) == "Sequence" ? member(words, "pretokenizers") : json::array({words});
    const json bytes = parts.back();
    if (type_of(bytes) != "ByteLevel")
      return unsupported_tokenizer(fmt::format("cuts words by {} behind bytes", type_of(bytes)));
    parts.erase(parts.size() - 1);
    made_->add_prefix_space_ = bool_member(bytes, "add_prefix_space", true);
    made_->pattern_ = bool_member(bytes, "use_regex", true) ? WordPattern::kGpt2 : WordPattern::kNone;
    // The last split by a pattern and the byte mapping are one step here; earlier parts cut first.
    if (!parts.empty() && is_pattern(parts.back())) {
      FOREBAY_RETURN_IF_ERROR(read_split(parts.back(), bytes));
      parts.erase(parts.size() - 1);
    }
    FOREBAY_ASSIGN(made_->pre_tokenizer_, PreTokenizer::parse({{"type", "Sequence"}, {"pretokenizers", parts}}));
    return {};
  }

  static bool is_pattern(const json& part) {
    return type_of(part) == "Split" && member(member(part, "pattern"), "Regex").is_string();
  }

  Status read_split(const json& split, const json& bytes) {
    const json& pattern = member(member(split, "pattern"), "Regex");
    if (pattern == std::string(kCl100kRegex))
      made_->pattern_ = WordPattern::kCl100k;
    else if (pattern == std::string(kCl100kSingleDigitsRegex))
      made_->pattern_ = WordPattern::kCl100kSingleDigits;
    else
      return unsupported_tokenizer(fmt::format("cuts words by the pattern '{}'", text_of(pattern)));
    if (member(split, "behavior") != "Isolated" || bool_member(split, "invert", false))
      return unsupported_tokenizer("cuts words in another way");
    if (bool_member(bytes, "use_regex", true) || bool_member(bytes, "add_prefix_space", true))
      return unsupported_tokenizer("cuts words twice");
    return {};
  }

  Status read_added() {
    FOREBAY_ASSIGN(std::vector<AddedToken> added, read_added_tokens(member(file_, "added_tokens")));
    for (AddedToken& token : added) {
      if (token.normalized) {
        NormalizedText text{token.text};
        FOREBAY_RETURN_IF_ERROR(made_->normalizer_.apply(text));
        token.text = std::move(text.text);
      }
      (token.normalized ? made_->normalized_added_ : made_->raw_added_).add(std::move(token));
    }
    return {};
  }

  const json& file_;
  std::shared_ptr<BpeTokenizer> made_{new BpeTokenizer()};
  std::unordered_map<std::string, int32_t> ids_;
};

Result<std::shared_ptr<const TextTokenizer>> read_bpe_tokenizer(const json& file) {
  return BpeTokenizerReader(file).read();
}

}  // namespace forebay
