#include "codec/html/html_text.h"

#include <random>
#include <string_view>

#include <gtest/gtest.h>

#include "forebay/result.h"

namespace forebay {
namespace {

Result<std::string> text_of_page(std::string_view page, uint64_t grant = UINT64_MAX) {
  std::string text = "before ";
  WorkMemory memory(grant);
  const Status status = append_html_text({reinterpret_cast<const uint8_t*>(page.data()), page.size()}, memory, text);
  EXPECT_EQ(memory.reserved(), 0u);
  EXPECT_TRUE(text.starts_with("before "));
  if (!status.ok()) return status;
  return text.substr(7);
}

TEST(HtmlText, blocks_are_lines_and_blanks_are_one) {
  EXPECT_EQ(*text_of_page("<p>One</p><p>Two <b>bold</b>\n\t words</p>"), "One\nTwo bold words");
  EXPECT_EQ(*text_of_page("a<br>b<hr>c"), "a\nb\nc");
  EXPECT_EQ(*text_of_page("  <div> <div></div> x </div>  "), "x");
  EXPECT_EQ(*text_of_page("<pre> a\n  b</pre> c  d"), " a\n  b\nc d");
}

TEST(HtmlText, entities_are_what_they_stand_for) {
  EXPECT_EQ(*text_of_page("&amp;&lt;&eacute;&#x20AC;&mdash;&nope;"), "&<é€—&nope;");
}

TEST(HtmlText, what_no_reader_sees_is_left_out) {
  EXPECT_EQ(*text_of_page(
                "<head><title>t</title><style>s</style></head><script>'<p>'</script><!-- c -->x<noscript>n</noscript>"),
            "x");
  EXPECT_EQ(*text_of_page("<template><p>no</p></template>yes"), "yes");
}

TEST(HtmlText, any_bytes_have_a_text) {
  EXPECT_EQ(*text_of_page(""), "");
  EXPECT_EQ(*text_of_page("<p>unclosed <b>x <i>y</b> z"), "unclosed x y z");
  EXPECT_EQ(*text_of_page(std::string_view("a\0b", 3)), "a b");
}

TEST(HtmlText, pages_nested_too_deep_are_told_without_a_stack_or_time_that_grows) {
  for (const std::string_view element : {"<div>", "<b>", "<div></b>", "<table><tr><td>", "<span a=1>"}) {
    std::string page;
    for (int i = 0; i < 100'000; ++i) page += element;
    EXPECT_EQ(text_of_page(page + "x").status().code(), Code::kUnsupported) << element;
  }
  std::string good;
  for (int i = 0; i < 1000; ++i) good += "<div>";
  EXPECT_EQ(*text_of_page(good + "x"), "x");
}

TEST(HtmlText, memory_that_is_not_granted_is_asked_for) {
  std::string page;
  for (int i = 0; i < 10'000; ++i) page += "<p>words in a paragraph</p>";
  const Status refused = text_of_page(page, 100'000).status();
  EXPECT_EQ(refused.code(), Code::kOutOfBudget);
  EXPECT_TRUE(text_of_page(page, 100 << 20).ok());
}

TEST(HtmlText, noise_is_an_answer) {
  std::mt19937 random(9);
  const std::string_view parts[] = {"<p>", "</p>", "<table>", "<td",   ">",        "&am", "&#", ";",     "'",
                                    "\"",  "<!--", "-->",     "<svg>", "<select>", "</",  "x ", "<math>"};
  for (int round = 0; round < 3000; ++round) {
    std::string page;
    for (size_t count = random() % 50; count > 0; --count) page += parts[random() % std::size(parts)];
    EXPECT_TRUE(text_of_page(page).ok()) << page;
  }
}

}  // namespace
}  // namespace forebay
