//! The smallest tree that html5ever can build, to judge HTML by what a browser makes of it and not by its letters.

use std::{
    borrow::Cow,
    cell::RefCell,
    rc::{Rc, Weak},
};

use html5ever::{
    Attribute, ExpandedName, ParseOpts, QualName,
    interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink},
    local_name, ns, parse_fragment,
    tendril::{StrTendril, TendrilSink},
    tree_builder::TreeBuilderOpts,
};

pub(crate) type Handle = Rc<Node>;

/// A node, its children and its way up.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) children: RefCell<Vec<Handle>>,
    parent: RefCell<Weak<Node>>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Root,
    Element { name: QualName, attributes: Vec<Attribute> },
    Text(RefCell<String>),
    Comment(String),
}

/// Reads HTML as the content of a `<div>`, with scripting off so that `<noscript>` is read as well.
///
/// The node given has the content as its children.
pub(crate) fn fragment(html: &str) -> Handle {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
        ..ParseOpts::default()
    };
    let context = QualName::new(None, ns!(html), local_name!("div"));
    let document = parse_fragment(Builder::default(), options, context, Vec::new(), false).one(html);
    let root = document.children.borrow().first().cloned();
    root.expect("html5ever gives a fragment a root")
}

impl Node {
    fn new(kind: Kind) -> Handle {
        Rc::new(Self { kind, children: RefCell::default(), parent: RefCell::default() })
    }

    fn insert(self: &Rc<Self>, at: usize, child: NodeOrText<Handle>) {
        let mut children = self.children.borrow_mut();
        let child = match child {
            NodeOrText::AppendNode(node) => node,
            NodeOrText::AppendText(text) => {
                if let Some(Kind::Text(before)) = at.checked_sub(1).map(|before| &children[before].kind) {
                    before.borrow_mut().push_str(&text);
                    return;
                }
                Self::new(Kind::Text(RefCell::new(text.to_string())))
            }
        };
        *child.parent.borrow_mut() = Rc::downgrade(self);
        children.insert(at, child);
    }

    fn append(self: &Rc<Self>, child: NodeOrText<Handle>) {
        let end = self.children.borrow().len();
        self.insert(end, child);
    }

    fn place(self: &Rc<Self>) -> Option<(Handle, usize)> {
        let parent = self.parent.borrow().upgrade()?;
        let at = parent.children.borrow().iter().position(|child| Rc::ptr_eq(child, self))?;
        Some((parent, at))
    }

    fn detach(self: &Rc<Self>) {
        if let Some((parent, at)) = self.place() {
            parent.children.borrow_mut().remove(at);
        }
        *self.parent.borrow_mut() = Weak::new();
    }
}

struct Builder {
    document: Handle,
}

impl Default for Builder {
    fn default() -> Self {
        Self { document: Node::new(Kind::Root) }
    }
}

impl TreeSink for Builder {
    type Handle = Handle;
    type Output = Handle;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Handle {
        self.document
    }

    fn get_document(&self) -> Handle {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        match &target.kind {
            Kind::Element { name, .. } => name.expanded(),
            other => unreachable!("html5ever asks elements for their name, not {other:?}"),
        }
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Handle {
        Node::new(Kind::Element { name, attributes })
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        Node::new(Kind::Comment(text.to_string()))
    }

    fn create_pi(&self, _: StrTendril, data: StrTendril) -> Handle {
        Node::new(Kind::Comment(data.to_string()))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        if let NodeOrText::AppendNode(node) = &child {
            node.detach();
        }
        parent.append(child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        if element.place().is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        if let NodeOrText::AppendNode(node) = &child {
            node.detach();
        }
        let (parent, at) = sibling.place().expect("html5ever names a sibling that is in the tree");
        parent.insert(at, child);
    }

    fn remove_from_parent(&self, target: &Handle) {
        target.detach();
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        for child in node.children.take() {
            new_parent.append(NodeOrText::AppendNode(child));
        }
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        Rc::ptr_eq(one, other)
    }

    /// A template's content counts like that of any element.
    fn get_template_contents(&self, target: &Handle) -> Handle {
        Rc::clone(target)
    }

    /// In a fragment only its root is ever given attributes late, and the root is no part of it.
    fn add_attrs_if_missing(&self, _: &Handle, _: Vec<Attribute>) {}

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn set_quirks_mode(&self, _: QuirksMode) {}
}
