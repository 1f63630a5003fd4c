#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "codec/tokenizer/bpe_tokenizer.h"
#include "codec/tokenizer/file_parts.h"

namespace forebay {

namespace {

using nlohmann::json;
using namespace tokenizer_file;

/// The characters that stand for bytes: printable ones for themselves, the others by their place behind U+00FF.
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
    FOREBAY_RETURN_IF_ERROR(read_merges());
    FOREBAY_RETURN_IF_ERROR(read_words(member(file_, "pre_tokenizer")));
    FOREBAY_RETURN_IF_ERROR(read_added());
    FOREBAY_RETURN_IF_ERROR(read_around(member(file_, "post_processor"), made_->before_, made_->behind_));
    return std::shared_ptr<const TextTokenizer>(std::move(made_));
  }

 private:
  Status read_vocabulary() {
    const json& model = member(file_, "model");
    const json& vocabulary = member(model, "vocab");
    if (const std::string type = type_of(model); type != "BPE" && !(type.empty() && vocabulary.is_object()))
      return type.empty() ? no_tokenizer("it has no model") : other_kind(fmt::format("is a {} model", type));
    if (!vocabulary.is_object()) return no_tokenizer("its model has no vocab");
    for (const char* part : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!member(model, part).is_null() && member(model, part) != "") return other_kind(fmt::format("has a {}", part));
    }
    if (!member(model, "dropout").is_null() && member(model, "dropout") != 0.0) return other_kind("has a dropout");
    for (const auto& [text, id] : vocabulary.items()) {
      FOREBAY_ASSIGN(ids_[text], id_of(id));
    }
    return read_bytes(says(model, "ignore_merges", false));
  }

  Status read_bytes(bool ignores_merges) {
    const std::array<std::string, 256> names = byte_names();
    std::unordered_map<std::string, char> byte_of;
    for (size_t byte = 0; byte < names.size(); ++byte) {
      byte_of[names[byte]] = static_cast<char>(byte);
      const auto found = ids_.find(names[byte]);
      if (found == ids_.end()) return other_kind(fmt::format("has no token for the byte {}", byte));
      made_->of_byte_[byte] = found->second;
    }
    made_->ignores_merges_ = ignores_merges;
    for (const auto& [text, id] : ids_) {
      // By bytes, since words are looked up as bytes and never spelt with the names of bytes.
      if (ignores_merges) add_whole_word(text, id, byte_of);
    }
    return {};
  }

  void add_whole_word(const std::string& text, int32_t id, const std::unordered_map<std::string, char>& byte_of) {
    std::string bytes;
    for (size_t at = 0; at < text.size();) {
      const size_t length = static_cast<uint8_t>(text[at]) < 0x80 ? 1 : 2;
      const auto byte = byte_of.find(text.substr(at, length));
      if (byte == byte_of.end()) return;  // no word has such a character
      bytes += byte->second;
      at += length;
    }
    made_->whole_words_.emplace(std::move(bytes), id);
  }

  Status read_merges() {
    const json& merges = member(member(file_, "model"), "merges");
    if (!merges.is_array()) return no_tokenizer("its model has no merges");
    // Of the right size at once: tables do not grow.
    made_->merges_ = MergeTable(merges.size());
    uint32_t rank = 0;
    for (const json& merge : merges) FOREBAY_RETURN_IF_ERROR(add_merge(merge, rank++));
    return {};
  }

  Status add_merge(const json& merge, uint32_t rank) {
    std::string left, right;
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else if (merge.is_string()) {
      const std::string both = merge.get<std::string>();
      const size_t blank = both.find(' ');
      if (blank == std::string::npos) return no_tokenizer(fmt::format("merge {} is no pair", rank));
      left = both.substr(0, blank);
      right = both.substr(blank + 1);
    } else {
      return no_tokenizer(fmt::format("merge {} is no pair", rank));
    }
    const auto a = ids_.find(left), b = ids_.find(right), made = ids_.find(left + right);
    if (a == ids_.end() || b == ids_.end() || made == ids_.end())
      return no_tokenizer(fmt::format("merge {} is of tokens that the vocab lacks", rank));
    made_->merges_.add(a->second, b->second, {rank, made->second});
    return {};
  }

  Status read_words(const json& words) {
    if (type_of(words) == "ByteLevel") {
      made_->blank_before_ = says(words, "add_prefix_space", true);
      made_->pattern_ = says(words, "use_regex", true) ? WordPattern::kGpt2 : WordPattern::kNone;
      return {};
    }
    const json& parts = member(words, "pretokenizers");
    const bool split = type_of(words) == "Sequence" && parts.is_array() && parts.size() == 2 &&
                       type_of(parts[0]) == "Split" && type_of(parts[1]) == "ByteLevel";
    if (!split) return other_kind(words.is_null() ? "cuts no words" : fmt::format("cuts words by {}", type_of(words)));
    return read_split(parts[0], parts[1]);
  }

  Status read_split(const json& split, const json& bytes) {
    const json& pattern = member(member(split, "pattern"), "Regex");
    if (pattern == std::string(kDigits3Text))
      made_->pattern_ = WordPattern::kDigits3;
    else if (pattern == std::string(kDigits1Text))
      made_->pattern_ = WordPattern::kDigits1;
    else
      return other_kind("cuts words by another pattern");
    if (member(split, "behavior") != "Isolated" || says(split, "invert", false))
      return other_kind("cuts words in another way");
    if (says(bytes, "use_regex", true) || says(bytes, "add_prefix_space", true)) return other_kind("cuts words twice");
    return {};
  }

  Status read_added() {
    FOREBAY_ASSIGN(std::vector<AddedToken> added, read_added_tokens(member(file_, "added_tokens")));
    for (AddedToken& token : added) {
      if (token.normalized) {
        NormalText text{token.text};
        FOREBAY_RETURN_IF_ERROR(made_->normalizer_.apply(text));
        token.text = std::move(text.text);
      }
      (token.normalized ? made_->normalized_ : made_->raw_).add(std::move(token));
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
