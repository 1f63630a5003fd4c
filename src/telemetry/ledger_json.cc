#include <array>

#include <nlohmann/json.hpp>

#include "forebay/ledger.h"

namespace forebay {

namespace {

using LedgerJson = nlohmann::ordered_json;

// Names of files may contain any bytes, and JSON only UTF-8.
std::string text_of(const LedgerJson& json) { return json.dump(-1, ' ', false, LedgerJson::error_handler_t::replace); }

// In the order of FigureKind.
constexpr std::array<std::string_view, 8> kKinds = {"text",  "label", "counter", "estimate",
                                                    "gauge", "note",  "tally",   "histogram"};

/// Builds nested objects in the order of the calls.
class JsonView final : public LedgerVisitor {
 public:
  void number(const Figure& figure, FigureNumber value) override {
    std::visit([&](auto number) { open_.back()[figure.name] = number; }, value);
  }
  void text(const Figure& figure, const std::string& value) override { open_.back()[figure.name] = value; }
  void tally(const Figure& figure, const std::map<uint32_t, int64_t>& value) override {
    LedgerJson& json = open_.back()[figure.name] = LedgerJson::object();
    for (const auto& [number, count] : value) json[std::to_string(number)] = count;
  }
  void histogram(const Figure& figure, const Histogram& value) override {
    open_.back()[figure.name] = {
        {"bounds", value.bounds}, {"counts", value.counts}, {"count", value.count()}, {"sum", value.sum}};
  }
  void begin(const FigureGroup& group) override {
    open_.push_back(group.one.empty() ? LedgerJson::object() : LedgerJson::array());
  }
  void end(const FigureGroup& group) override {
    // Taken out first, because it changes open_.back().
    LedgerJson done = take();
    open_.back()[group.name] = std::move(done);
  }
  void begin_item() override { open_.push_back(LedgerJson::object()); }
  void end_item() override {
    LedgerJson done = take();
    open_.back().push_back(std::move(done));
  }
  LedgerJson take() {
    LedgerJson done = std::move(open_.back());
    open_.pop_back();
    return done;
  }

 private:
  std::vector<LedgerJson> open_{LedgerJson::object()};
};

/// Descriptions of the figures, without their values.
class SchemaView final : public LedgerVisitor {
 public:
  void number(const Figure& figure, FigureNumber) override { add(figure); }
  void text(const Figure& figure, const std::string&) override { add(figure); }
  void tally(const Figure& figure, const std::map<uint32_t, int64_t>&) override { add(figure); }
  void histogram(const Figure& figure, const Histogram&) override { add(figure); }
  void begin(const FigureGroup&) override { open_.push_back(LedgerJson::array()); }
  void end(const FigureGroup& group) override {
    LedgerJson figures = take();
    open_.back().push_back({{"name", group.name}, {"one", group.one}, {"help", group.help}, {"figures", figures}});
  }
  void begin_item() override {}
  void end_item() override {}
  LedgerJson take() {
    LedgerJson done = std::move(open_.back());
    open_.pop_back();
    return done;
  }

 private:
  void add(const Figure& figure) {
    open_.back().push_back({{"name", figure.name},
                            {"kind", kKinds[static_cast<size_t>(figure.kind)]},
                            {"unit", figure.unit},
                            {"help", figure.help}});
  }
  // The enclosing groups, the innermost last; the first is the whole.
  std::vector<LedgerJson> open_{LedgerJson::array()};
};

}  // namespace

std::string to_json(const Ledger& ledger) {
  JsonView view;
  visit(ledger, view);
  return text_of(view.take());
}

std::string ledger_schema() {
  Ledger one_of_each;
  // A list is described by its first item, and an optional part only if it is present. So the
  // ledger must have one of each.
  one_of_each.steps.resize(1);
  one_of_each.parts.resize(1);
  one_of_each.stores.resize(1);
  one_of_each.caches.resize(1);
  one_of_each.chunks.resize(1);
  one_of_each.stream.emplace().partitions.resize(1);
  one_of_each.rehearsal.emplace();
  SchemaView view;
  visit(one_of_each, view);
  return text_of({{"version", kLedgerVersion}, {"figures", view.take()}});
}

}  // namespace forebay
