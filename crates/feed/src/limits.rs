//! Every bound the parser keeps, by name. A document that goes past one is cut there or refused, with a warning or an
//! error; it never costs more time or memory than these numbers allow.

/// Bytes of a document, unless [`Hints::document_bytes_max`](crate::Hints) says otherwise.
pub const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Entries taken from one document; those after them are left out.
pub const ENTRIES_MAX: usize = 10_000;

/// Bytes of one text (a title, a summary, a content), after decoding, and again once it is sanitised.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Open elements of an XML feed. Deeper markup is dropped, its text is kept.
pub const XML_DEPTH_MAX: usize = 128;

/// Open elements in sanitised HTML. Deeper markup is dropped, its text is kept.
pub const HTML_DEPTH_MAX: usize = 128;

/// Attributes read of one element; those after them are ignored.
pub const ATTRIBUTES_MAX: usize = 256;

/// Namespace prefixes in force at once.
pub const NAMESPACES_MAX: usize = 256;

/// Links, authors, tags, enclosures, media: of each kind, for one entry or one feed.
pub const LIST_MAX: usize = 64;

/// The same of all kinds, in all of a document: a word between two commas takes ten times its size once it is a tag.
pub const LIST_ITEMS_MAX: usize = 250_000;

/// Entities that a document may declare.
pub const ENTITIES_MAX: usize = 256;

/// Bytes that one declared entity may stand for, with the entities inside it.
pub const ENTITY_BYTES_MAX: usize = 4 * 1024;

/// Bytes that all references to declared entities may add to one document.
pub const ENTITY_EXPANSION_BYTES_MAX: usize = 1024 * 1024;

/// Bytes at the head of a document that are searched for an encoding declaration, as browsers do.
pub const ENCODING_PRESCAN_BYTES: usize = 1024;

/// Bytes that the encoding of a document is guessed from, where nothing declares it: from the first that is not ASCII.
pub const ENCODING_GUESS_BYTES: usize = 1024 * 1024;

/// Bytes of one URL; a longer one is dropped.
pub const URL_BYTES_MAX: usize = 8 * 1024;

/// Making links absolute may add this many times the bytes of the text that they stand in. A long base before many
/// short links must not turn a small document into a large feed; links beyond that are dropped.
pub const RESOLVED_FACTOR_MAX: usize = 4;

/// What making links absolute may add to a text however short it is, in bytes.
pub const RESOLVED_BYTES_MIN: usize = 4 * 1024;

/// Feeds that a page is searched for.
pub const DISCOVERED_MAX: usize = 64;

/// Icons that a page names.
pub const ICONS_MAX: usize = 16;

/// Warnings kept of one document.
pub const WARNINGS_MAX: usize = 32;

/// Of these, those about dates. The rest is for warnings that each come once.
pub const DATE_WARNINGS_MAX: usize = 16;

/// Properties of microformats that one element is; those after them are ignored.
pub const PROPERTIES_MAX: usize = 8;

/// Values in a JSON document: each takes some hundred bytes once it is read, however short it is.
pub const JSON_VALUES_MAX: usize = 500_000;

/// Bytes of a category or a name that is marked up in a page, where it may be as long as the page.
pub const TAG_BYTES_MAX: usize = 512;

/// Ids kept of one text; those after them are left out, and links to them lead to the entry's page.
pub const IDS_MAX: usize = 4096;

/// Links within one text that are kept as such; those after them lead to the entry's page.
pub const ANCHOR_LINKS_MAX: usize = 4096;

/// Bytes of one id.
pub const ID_BYTES_MAX: usize = 256;
