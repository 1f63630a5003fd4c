#include "store/s3/xml.h"

#include <gtest/gtest.h>

#include "store/percent.h"
#include "store/s3/s3_answers.h"

namespace forebay {
namespace {

/// Returns all events as one text: "<a>", "'text'", "</a>"; or the error.
std::string events(std::string_view document) {
  XmlReader reader(document);
  std::string all;
  while (true) {
    const auto event = reader.next();
    if (!event.ok()) return "error";
    if (event->kind == XmlEvent::Kind::kDone) return all;
    if (event->kind == XmlEvent::Kind::kText) all += "'" + event->text + "'";
    if (event->kind == XmlEvent::Kind::kBegin) all += "<" + event->text + ">";
    if (event->kind == XmlEvent::Kind::kEnd) all += "</" + event->text + ">";
  }
}

TEST(Xml, IsReadStepByStep) {
  EXPECT_EQ(events("<?xml version=\"1.0\"?>\n<a x='1' y=\"2\"><b>t</b><c/></a>\n"), "<a><b>'t'</b><c></c></a>");
  EXPECT_EQ(events("<s:a xmlns:s=\"u\"><!-- no --><s:b></s:b></s:a>"), "<a><b></b></a>");
  EXPECT_EQ(events("<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x20ac;<![CDATA[<&]]></a>"), "<a>'<&>\"'A\xe2\x82\xac<&'</a>");
}

TEST(Xml, WhatIsNoXmlIsAnError) {
  for (const char* document : {"",
                               "text",
                               "<a>",
                               "<a></b>",
                               "</a>",
                               "<a/><b/>",
                               "<a>&unknown;</a>",
                               "<a>&#0;</a>",
                               "<a>&#xd800;</a>",
                               "<a>&#x110000;</a>",
                               "<a x></a>",
                               "<a x=1></a>",
                               "<a x=\"<\"></a>",
                               "<a",
                               "<a>&amp",
                               "<!DOCTYPE a><a/>",
                               "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
                               "<a><![CDATA[x</a>",
                               "<a/>text",
                               "<?xml",
                               "<!-- x",
                               "< a/>"}) {
    EXPECT_EQ(events(document), "error") << document;
  }
}

TEST(Xml, DepthIsBounded) {
  std::string deep, back;
  for (size_t i = 0; i < XmlReader::kMaxDepth; ++i) {
    deep += "<a>";
    back += "</a>";
  }
  EXPECT_NE(events(deep + back), "error");
  EXPECT_EQ(events(deep + "<a/>" + back), "error");
}

TEST(S3Listing, NamesAndSizesAreDecoded) {
  const auto list = parse_s3_list(
      "<?xml version=\"1.0\"?><ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t&amp;1</NextContinuationToken>"
      "<Contents><Key>d/a%2Bb+c%0A%25</Key><Size>7</Size><ETag>&quot;e&quot;</ETag></Contents>"
      "<Contents><Key>d/.hidden</Key><Size>1</Size></Contents><Contents><Key>d/</Key><Size>0</Size></Contents>"
      "<CommonPrefixes><Prefix>d/e%20/</Prefix></CommonPrefixes>"
      "<CommonPrefixes><Prefix>d/.h/</Prefix></CommonPrefixes></ListBucketResult>",
      "d/", "");
  ASSERT_TRUE(list.ok()) << list.status().to_string();
  ASSERT_EQ(list->page.objects.size(), 1u) << "neither hidden names nor the folder's own marker";
  EXPECT_EQ(list->page.objects[0].key, "d/a+b c\n%");
  EXPECT_EQ(list->page.objects[0].size, 7u);
  EXPECT_EQ(list->page.objects[0].version, version_of_etag("\"e\"")) << "as a header gives it";
  EXPECT_EQ(list->page.prefixes, std::vector<std::string>{"d/e /"});
  EXPECT_EQ(list->page.hidden, 2u);
  EXPECT_EQ(list->page.continuation, "t&1");
  EXPECT_TRUE(list->found);
}

TEST(S3Listing, NamesBehindTheBoundEndTheListing) {
  const char* document =
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      "<Contents><Key>a</Key><Size>1</Size></Contents><Contents><Key>b</Key><Size>1</Size></Contents>"
      "<Contents><Key>c</Key><Size>1</Size></Contents></ListBucketResult>";
  const auto until_b = parse_s3_list(document, "", "b").value();
  EXPECT_EQ(until_b.page.objects.size(), 2u);
  EXPECT_EQ(until_b.page.continuation, "");
  EXPECT_EQ(parse_s3_list(document, "", "d").value().page.continuation, "t");
}

TEST(S3Listing, WhatIsNoListingIsCorrupt) {
  for (const char* document :
       {"", "<html></html>", "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>1e9</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "<ListBucketResult>"}) {
    EXPECT_EQ(parse_s3_list(document, "", "").status().code(), Code::kCorrupt) << document;
  }
  EXPECT_EQ(
      parse_s3_list("<ListBucketResult><Contents><Key>b</Key><Size>1</Size></Contents></ListBucketResult>", "a/", "")
          .status()
          .code(),
      Code::kCorrupt)
      << "a name outside of the folder";
}

TEST(S3Errors, AreReadAsFarAsTheyGo) {
  const S3ErrorBody error = parse_s3_error(
      "<Error><Code>NoSuchKey</Code><Message></Message><Key>x</Key><Region>eu-central-1</Region></Error>");
  EXPECT_EQ(error.code, "NoSuchKey");
  EXPECT_EQ(error.message, "");
  EXPECT_EQ(error.region, "eu-central-1");
  EXPECT_EQ(parse_s3_error("<Error><Code>SlowDown</Code><Mess").code, "SlowDown");
  EXPECT_EQ(parse_s3_error("<html>").code, "");
  EXPECT_EQ(parse_s3_error("").code, "");
}

TEST(Percent, EncodesAllButTheUnreserved) {
  EXPECT_EQ(percent_encode_path("a b+c/%\xff~"), "a%20b%2Bc/%25%FF~");
  EXPECT_EQ(percent_encode("a/b"), "a%2Fb");
}

}  // namespace
}  // namespace forebay
